"""G8: if a thread of the node fails, the robot stops, the client gets a result, and the process ends with an exit code. If
no goal depends on the thread, the navigation continues."""

import os
import signal

import pytest
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import GetParameters
from support.graph import wait_for
from support.guardians import guardian_of

#: Maximum time in s until the process has ended.
BOUND = 3.0


@pytest.fixture
def fail(stack_factory, program_with_faults, monkeypatch, tmp_path):
    """Makes a thread fail while the robot drives. Returns the stack and the goal."""

    def start(thread, cause=None, parameters=None, fault="panic", before=None):
        trigger = tmp_path / "fail"
        monkeypatch.setenv("NAVTREE_FAULT", f"{thread}:{trigger}")
        stack = stack_factory(parameters, program=program_with_faults)
        stack.robot.controller.behaviour.duration = None
        goal = stack.navigation.send(1.0, 0.0)
        wait_for(stack.robot.controller.executing, 10, "the controller to execute")
        # The server drops a result request that arrives after the end of its node.
        wait_for(lambda: goal.feedback, 10, "the navigation to be under way")
        if before:
            before(stack)
        # The thread reads the file as soon as it exists, so the file gets its content first.
        prepared = tmp_path / "prepared"
        prepared.write_text(fault)
        prepared.rename(trigger)
        if cause:
            cause(stack)
        wait_for(lambda: not trigger.exists(), 10, f"the thread {thread} to fail")
        return stack, goal

    return start


def call(service, name):
    """Calls a service that does not answer."""

    def cause(stack):
        client = stack.graph.node.create_client(service, f"bt_navigator/{name}")
        wait_for(client.service_is_ready, 10, name)
        client.call_async(service.Request())

    return cause


def goal_with_missing_tree(stack):
    """Sends a goal whose tree does not exist, and ignores its result."""
    stack.navigation.send(1.0, 0.0, tree="/nowhere/fault.xml")


@pytest.mark.alone
@pytest.mark.timeout(1600)
@pytest.mark.parametrize(
    ("thread", "cause"),
    [
        ("tick", None),
        ("goal-tracker", None),
        ("ros-spin", None),
        ("watchdog", None),
        ("trees", goal_with_missing_tree),
        ("parameters", call(GetParameters, "get_parameters")),
        ("lifecycle", call(ChangeState, "change_state")),
    ],
)
def test_g8_all_goals_are_cancelled_after_a_thread_failed(fail, thread, cause):
    stack, goal = fail(thread, cause)
    controller = stack.robot.controller
    code, seconds = stack.node.wait(10.0)
    assert code == 1, stack.node.output
    assert seconds < BOUND
    assert len(controller.cancelled()) == 1, stack.node.output
    wait_for(lambda: stack.robot.executing() == 0, 10.0, "every goal to end")
    status, result = goal.result(5.0)
    assert status == "ABORTED"
    # No client is told of the end before the robot is told to stop. The callback follows the result.
    wait_for(lambda: goal.ended, 5.0, "the time of the result")
    assert goal.ended > controller.seen("cancel")[0].time, stack.node.output
    if thread == "tick":
        assert result.error_msg == "the node shut down after its tick thread had ended"
    if thread == "goal-tracker":
        # The thread would also send the result. The client is told all the same what may still move the robot.
        assert result.error_code == 9003, result.error_msg
        assert "not known to have stopped in time: follow_path: goal of FollowPath" in result.error_msg


@pytest.mark.alone
@pytest.mark.timeout(1600)
@pytest.mark.parametrize("watchdog_timeout", [1.0, 0.0])
def test_g11_guardian_cancels_goals_if_the_spin_thread_stalls(fail, watchdog_timeout):
    stack, _ = fail("ros-spin", parameters={"watchdog_timeout": watchdog_timeout}, fault="hang")
    controller = stack.robot.controller
    wait_for(lambda: controller.cancelled(), 20.0, lambda: f"the guardian's cancel: {stack.node.output}")
    assert stack.node.wait(10.0)[0] == -signal.SIGABRT
    assert "watchdog: thread `ros-spin` has been blocked in the middleware" in stack.node.output
    wait_for(lambda: stack.robot.executing() == 0, 10.0, "every goal to end")


def end_guardians(stack):
    """Kills guardian after guardian. The pause before the next one doubles: 12.8 s after eight."""
    guardian = None
    for _ in range(8):
        guardian = guardian_of(stack.node, but=guardian)
        os.kill(guardian, signal.SIGKILL)
    stack.node.wait_for_line("starting another in 12.8s")


@pytest.mark.alone
@pytest.mark.timeout(1600)
def test_g11_process_with_a_stalled_thread_is_aborted_only_while_a_guardian_runs(fail):
    stack, _ = fail("ros-spin", fault="hang", before=end_guardians)
    stack.node.wait_for_line("goals can be neither sent nor cancelled", 15.0)
    assert stack.node.process.poll() is None
    controller = stack.robot.controller
    wait_for(controller.cancelled, 15.0, lambda: f"the cancel of the next guardian: {stack.node.output}")
    assert stack.node.wait(10.0)[0] == -signal.SIGABRT
    wait_for(lambda: stack.robot.executing() == 0, 10.0, "every goal to end")


@pytest.mark.alone
@pytest.mark.timeout(1600)
def test_g8_process_ends_although_a_thread_stalls(fail):
    stack, goal = fail("parameters", call(GetParameters, "get_parameters"), fault="hang")
    stack.node.interrupt()
    code, seconds = stack.node.wait(10.0)
    assert (code, goal.result(5.0)[0]) == (0, "ABORTED"), stack.node.output
    assert seconds < 2.0 + 3.0 + 1.0
    assert len(stack.robot.controller.cancelled()) == 1


@pytest.mark.alone
@pytest.mark.timeout(1600)
def test_g8_result_of_a_shutdown_that_cannot_send_does_not_say_that_the_goal_never_started(fail):
    stack, goal = fail("goal-tracker", fault="hang")
    stack.node.interrupt()
    status, result = goal.result(10.0)
    assert status == "ABORTED"
    assert "if it started, the robot may still move; not known to have stopped in time: " in result.error_msg
    assert "goal of FollowPath" in result.error_msg, stack.node.output
    # The guardian sends the cancel that the node could not send.
    wait_for(lambda: stack.robot.executing() == 0, 20.0, "every goal to end")


@pytest.mark.alone
@pytest.mark.timeout(1600)
def test_g8_result_that_a_failed_thread_has_lost_is_told_by_the_shutdown(
    stack_factory, program_with_faults, monkeypatch, tmp_path
):
    trigger = tmp_path / "fail"
    monkeypatch.setenv("NAVTREE_FAULT", f"goal-tracker:{trigger}")
    stack = stack_factory(program=program_with_faults)
    trigger.touch()
    # The next work of the thread is to send its result.
    goal = stack.navigation.send(1.0, 0.0, tree="/nowhere/fault.xml")
    assert stack.node.wait(10.0)[0] == 1, stack.node.output
    status, result = goal.result(5.0)
    assert status == "ABORTED"
    assert result.error_msg.startswith("the node shut down before this goal started"), stack.node.output


def interrupt_slowly(stack):
    """Sends SIGINT, and returns while the robot is stopping."""
    stack.robot.controller.behaviour.stop_delay = 1.0
    stack.node.interrupt()
    wait_for(stack.robot.controller.cancelled, 10, "the cancel")


@pytest.mark.alone
@pytest.mark.timeout(1600)
def test_g8_exit_code_tells_of_a_thread_that_fails_during_a_shutdown(fail):
    stack, goal = fail("tick", before=interrupt_slowly)
    assert stack.node.wait(10.0)[0] == 1, stack.node.output
    status, result = goal.result(5.0)
    assert (status, result.error_msg) == ("ABORTED", "the node shut down after its tick thread had ended")


@pytest.mark.alone
@pytest.mark.timeout(1600)
def test_g8_client_learns_after_a_fault_of_the_tick_thread_that_the_robot_has_not_stopped(fail):
    def brake_slowly(stack):
        stack.robot.controller.behaviour.stop_delay = 5.0

    stack, goal = fail("tick", before=brake_slowly)
    assert stack.node.wait(10.0)[0] == 1, stack.node.output
    status, result = goal.result(5.0)
    assert (status, result.error_code) == ("ABORTED", 9003), result.error_msg
    assert "its tick thread had ended; not known to have stopped in time: follow_path: goal of" in result.error_msg
    assert "replaced by a newer goal" not in stack.node.output
    wait_for(lambda: stack.robot.executing() == 0, 10.0, "every goal to end")


@pytest.mark.timeout(1600)
@pytest.mark.parametrize("guardian", [True, False])
def test_g8_rejected_cancels_are_sent_again_after_the_goal_tracker_failed(fail, guardian):
    def refuse(stack):
        stack.robot.controller.behaviour.accept_cancel = False

    stack, _ = fail("goal-tracker", refuse, {"guardian": guardian})
    controller = stack.robot.controller
    wait_for(lambda: controller.seen("cancel"), 10, "the first cancel")
    controller.behaviour.accept_cancel = True
    code, seconds = stack.node.wait(10.0)
    assert code == 1, stack.node.output
    assert seconds < BOUND
    wait_for(lambda: stack.robot.executing() == 0, 10.0, "every goal to end")
    assert [event.detail for event in controller.seen("ended")] == ["canceled"]


@pytest.mark.timeout(1600)
def test_g8_failure_of_the_log_thread_ends_no_goal(fail):
    stack, goal = fail("console", goal_with_missing_tree)
    assert stack.robot.controller.executing() == 1
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    stack.node.interrupt()
    code, _ = stack.node.wait(10.0)
    assert code == 0, stack.node.output


@pytest.mark.timeout(1600)
def test_g8_answer_thread_is_restarted_after_a_failure(fail):
    other = []

    def another_goal(stack):
        """Sends a goal that preempts the first one. The failing thread sends that result."""
        other.append(stack.navigation.send(2.0, 0.0))

    stack, goal = fail("answers", another_goal)
    assert goal.result()[0] == "ABORTED"
    other[0].cancel()
    assert other[0].result()[0] == "CANCELED"
    stack.node.interrupt()
    code, _ = stack.node.wait(10.0)
    assert code == 0, stack.node.output


def test_g8_faults_cannot_be_injected_into_the_release_build(stack_factory, monkeypatch, tmp_path):
    trigger = tmp_path / "fail"
    monkeypatch.setenv("NAVTREE_FAULT", f"tick:{trigger}")
    stack = stack_factory()
    trigger.touch()
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"
    assert trigger.exists() and stack.node.running()


@pytest.mark.alone
@pytest.mark.timeout(1600)
def test_g8_a_signal_ends_the_process_although_its_main_thread_hangs(fail):
    stack, _ = fail("watchdog", fault="hang")
    stack.node.process.send_signal(signal.SIGTERM)
    code, seconds = stack.node.wait(10.0)
    assert code == 0 and seconds < 6.0, stack.node.output
    # The guardian cancels its goal.
    wait_for(lambda: not stack.robot.controller.executing(), 10, "the goal to end")
