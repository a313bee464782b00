"""Serve the action `spin`; what a goal does is told by its angle. Say what happens, with the time."""

import sys
import threading
import time

import rclpy
from nav2_msgs.action import Spin
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from std_srvs.srv import SetBool, Trigger


def say(*words):
    # In one piece: several threads say something.
    sys.stdout.write(" ".join(map(str, words)) + "\n")


def accept(goal):
    if goal.target_yaw == 3.0:
        return GoalResponse.REJECT
    if goal.target_yaw == 4.0:
        say("requested", goal.target_yaw)
        time.sleep(0.5)
    return GoalResponse.ACCEPT


def cancel(goal):
    say("cancel", time.time_ns())
    return CancelResponse.ACCEPT


def execute(goal):
    say("execute", time.time_ns())
    result = Spin.Result()
    feedback = Spin.Feedback()
    end = time.monotonic() + (0.2 if goal.request.target_yaw == 1.0 else 3600)
    while time.monotonic() < end:
        if goal.is_cancel_requested:
            goal.canceled()
            say("canceled", goal.request.target_yaw)
            return result
        feedback.angular_distance_traveled += 0.25
        goal.publish_feedback(feedback)
        time.sleep(0.01)
    goal.succeed()
    result.error_code = 7
    return result


def trigger(request, response):
    response.success = True
    response.message = "triggered"
    return response


def set_bool(request, response):
    response.success = request.data
    response.message = "set"
    return response


rclpy.init()
node = rclpy.create_node("peer")
group = ReentrantCallbackGroup()
server = ActionServer(
    node,
    Spin,
    "spin",
    execute_callback=execute,
    goal_callback=accept,
    cancel_callback=cancel,
    callback_group=group,
)
node.create_service(Trigger, "trigger", trigger)
node.create_service(SetBool, "set_bool", set_bool)
executor = MultiThreadedExecutor(4)
executor.add_node(node)
threading.Thread(target=executor.spin, daemon=True).start()
say("ready")
input()
server.destroy()
say("gone")
input()
