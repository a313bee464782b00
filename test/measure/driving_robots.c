/* Robots r1, r2, ... that drive, ticked at a rate in Hz by one thread: their minimum load on this rcl and this middleware. The
 * arguments are the rate and the number of robots. Each robot takes tf and odom and ignores them, publishes the feedback of its
 * navigation at 10 Hz, and once a second requests a path and sends it to the controller. These are the messages of a robot of
 * navtree. A message that arrives wakes nothing: it waits for the next tick. Ends by itself, with an error if a planner or a
 * controller does not answer. */
#include "entities.h"
#include <action_msgs/msg/goal_status_array.h>
#include <nav2_msgs/action/compute_path_to_pose.h>
#include <nav2_msgs/action/follow_path.h>
#include <nav2_msgs/action/navigate_to_pose.h>
#include <nav_msgs/msg/odometry.h>
#include <string.h>
#include <tf2_msgs/msg/tf_message.h>

/* The time until the servers are known. Afterwards each of them answers within a second. */
#define SETTLING 30L

/* The client of an action, as far as a leaf needs it. */
typedef struct {
  rcl_client_t send_goal, get_result;
  rcl_subscription_t status;
  /* The number of the newest goal, and of the newest goal with a result. Goals are counted from 1. */
  int64_t sent, ended;
} action_t;

typedef struct {
  rcl_node_t node;
  rcl_subscription_t frames, odometry;
  rcl_publisher_t feedback;
  action_t planner, controller;
} robot_t;

/* One message of each type, for all robots. */
static struct {
  tf2_msgs__msg__TFMessage frames;
  nav_msgs__msg__Odometry odometry;
  nav2_msgs__action__NavigateToPose_FeedbackMessage feedback;
  action_msgs__msg__GoalStatusArray status;
  nav2_msgs__action__ComputePathToPose_SendGoal_Request plan;
  nav2_msgs__action__ComputePathToPose_SendGoal_Response planned;
  nav2_msgs__action__ComputePathToPose_GetResult_Request ask_path;
  nav2_msgs__action__ComputePathToPose_GetResult_Response path;
  nav2_msgs__action__FollowPath_SendGoal_Request follow;
  nav2_msgs__action__FollowPath_SendGoal_Response followed;
  nav2_msgs__action__FollowPath_GetResult_Request ask_end;
  nav2_msgs__action__FollowPath_GetResult_Response end;
} message;

static void create_messages(void)
{
  CHECK(tf2_msgs__msg__TFMessage__init(&message.frames))
  CHECK(nav_msgs__msg__Odometry__init(&message.odometry))
  CHECK(nav2_msgs__action__NavigateToPose_FeedbackMessage__init(&message.feedback))
  CHECK(action_msgs__msg__GoalStatusArray__init(&message.status))
  CHECK(nav2_msgs__action__ComputePathToPose_SendGoal_Request__init(&message.plan))
  CHECK(nav2_msgs__action__ComputePathToPose_SendGoal_Response__init(&message.planned))
  CHECK(nav2_msgs__action__ComputePathToPose_GetResult_Request__init(&message.ask_path))
  CHECK(nav2_msgs__action__ComputePathToPose_GetResult_Response__init(&message.path))
  CHECK(nav2_msgs__action__FollowPath_SendGoal_Request__init(&message.follow))
  CHECK(nav2_msgs__action__FollowPath_SendGoal_Response__init(&message.followed))
  CHECK(nav2_msgs__action__FollowPath_GetResult_Request__init(&message.ask_end))
  CHECK(nav2_msgs__action__FollowPath_GetResult_Response__init(&message.end))
  static char frame[] = "map";
  message.plan.goal.goal.header.frame_id = (rosidl_runtime_c__String){frame, sizeof(frame) - 1, sizeof(frame)};
  message.plan.goal.goal.pose.position.x = 20.0;
  message.plan.goal.goal.pose.orientation.w = 1.0;
}

static void create_action(
  rcl_node_t * node, action_t * action, const char * name, const rosidl_service_type_support_t * send_goal,
  const rosidl_service_type_support_t * get_result)
{
  char topic[64];
  snprintf(topic, sizeof(topic), "%s/_action/send_goal", name);
  CREATE(client, &action->send_goal, node, send_goal, topic);
  snprintf(topic, sizeof(topic), "%s/_action/get_result", name);
  CREATE(client, &action->get_result, node, get_result, topic);
  snprintf(topic, sizeof(topic), "%s/_action/status", name);
  CREATE(subscription, &action->status, node, ROSIDL_GET_MSG_TYPE_SUPPORT(action_msgs, msg, GoalStatusArray), topic);
}

static void create_robot(rcl_context_t * context, robot_t * robot, int number)
{
  char name[32];
  snprintf(name, sizeof(name), "r%d", number);
  create_node(context, &robot->node, "loop", name);
  rcl_node_t * node = &robot->node;
  CREATE(subscription, &robot->frames, node, ROSIDL_GET_MSG_TYPE_SUPPORT(tf2_msgs, msg, TFMessage), "tf");
  CREATE(subscription, &robot->odometry, node, ROSIDL_GET_MSG_TYPE_SUPPORT(nav_msgs, msg, Odometry), "odom");
  CREATE(publisher, &robot->feedback, node,
    ROSIDL_GET_MSG_TYPE_SUPPORT(nav2_msgs, action, NavigateToPose_FeedbackMessage), "navigate_to_pose/_action/feedback");
  create_action(node, &robot->planner, "compute_path_to_pose", ACTION_SERVICE(ComputePathToPose, SendGoal),
    ACTION_SERVICE(ComputePathToPose, GetResult));
  create_action(node, &robot->controller, "follow_path", ACTION_SERVICE(FollowPath, SendGoal),
    ACTION_SERVICE(FollowPath, GetResult));
}

/* Goals of different robots go to different servers, so a number is an identity. */
static void identify(unique_identifier_msgs__msg__UUID * identity, int64_t number)
{
  memcpy(identity->uuid, &number, sizeof(number));
}

static void drive(robot_t * robot)
{
  action_t * planner = &robot->planner, * controller = &robot->controller;
  take_all(&planner->status, &message.status);
  take_all(&controller->status, &message.status);
  if (take_response(&planner->send_goal, &message.planned)) {
    CHECK(message.planned.accepted)
    identify(&message.ask_path.goal_id, planner->sent);
    send_request(&planner->get_result, &message.ask_path);
  }
  if (take_response(&planner->get_result, &message.path)) {
    planner->ended = planner->sent;
    const nav_msgs__msg__Path path = message.follow.goal.path;
    message.follow.goal.path = message.path.result.path;
    message.path.result.path = path;
    identify(&message.follow.goal_id, ++controller->sent);
    send_request(&controller->send_goal, &message.follow);
  }
  if (take_response(&controller->send_goal, &message.followed)) {
    CHECK(message.followed.accepted)
    identify(&message.ask_end.goal_id, controller->sent);
    send_request(&controller->get_result, &message.ask_end);
  }
  /* Each newer goal ends the one before it. */
  while (take_response(&controller->get_result, &message.end)) {
    controller->ended += 1;
  }
}

static void plan(robot_t * robot, int has_settled)
{
  if (has_settled) {
    CHECK(robot->planner.ended == robot->planner.sent)
    CHECK(robot->controller.ended > 0)
  }
  identify(&message.plan.goal_id, ++robot->planner.sent);
  send_request(&robot->planner.send_goal, &message.plan);
}

int main(int argc, const char ** argv)
{
  CHECK(argc == 3)
  const long rate = atol(argv[1]), count = atol(argv[2]);
  robot_t * robots = calloc(count, sizeof(robot_t));
  rcl_context_t context;
  create_context(&context);
  create_messages();
  for (int i = 0; i < count; ++i) {
    create_robot(&context, &robots[i], i + 1);
  }
  report_up();
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (long tick = 1; tick <= SECONDS * rate; ++tick) {
    sleep_until_next(&next, rate);
    for (int i = 0; i < count; ++i) {
      take_all(&robots[i].frames, &message.frames);
      take_all(&robots[i].odometry, &message.odometry);
      drive(&robots[i]);
      /* Not all robots in the same tick. */
      if ((tick + i) % rate == 0) {
        plan(&robots[i], tick > SETTLING * rate);
      }
      if (tick % (rate / 10) == 0) {
        CHECK(rcl_publish(&robots[i].feedback, &message.feedback, NULL) == RCL_RET_OK)
      }
    }
  }
  return 0;
}
