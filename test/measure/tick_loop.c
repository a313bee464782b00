/* A loop at a rate in Hz, for some robots: its minimum load on this rcl and this middleware, with the topics of a navigation.
 * The arguments are the rate, and the number of robots (r1, r2, ...) if the topics have namespaces. For each robot it subscribes
 * to tf and odom, and publishes the feedback of the navigation at 10 Hz. It has one thread, which takes the messages at its ticks
 * and ignores them. Ends by itself. */
#include <nav2_msgs/action/navigate_to_pose.h>
#include <nav_msgs/msg/odometry.h>
#include <rcl/rcl.h>
#include <stdio.h>
#include <stdlib.h>
#include <tf2_msgs/msg/tf_message.h>
#include <time.h>

#define SECONDS 120LL

typedef struct {
  rcl_node_t node;
  rcl_subscription_t frames, odometry;
  rcl_publisher_t feedback;
} robot_t;

static int subscribe(robot_t * robot, rcl_subscription_t * subscription, const char * topic,
  const rosidl_message_type_support_t * type)
{
  rcl_subscription_options_t options = rcl_subscription_get_default_options();
  *subscription = rcl_get_zero_initialized_subscription();
  return rcl_subscription_init(subscription, &robot->node, type, topic, &options) == RCL_RET_OK;
}

static int create(rcl_context_t * context, robot_t * robot, const char * name)
{
  const rosidl_message_type_support_t * out =
    ROSIDL_GET_MSG_TYPE_SUPPORT(nav2_msgs, action, NavigateToPose_FeedbackMessage);
  rcl_node_options_t node_options = rcl_node_get_default_options();
  rcl_publisher_options_t options = rcl_publisher_get_default_options();
  robot->node = rcl_get_zero_initialized_node();
  robot->feedback = rcl_get_zero_initialized_publisher();
  return rcl_node_init(&robot->node, "loop", name, context, &node_options) == RCL_RET_OK &&
    subscribe(robot, &robot->frames, "tf", ROSIDL_GET_MSG_TYPE_SUPPORT(tf2_msgs, msg, TFMessage)) &&
    subscribe(robot, &robot->odometry, "odom", ROSIDL_GET_MSG_TYPE_SUPPORT(nav_msgs, msg, Odometry)) &&
    rcl_publisher_init(
      &robot->feedback, &robot->node, out, "navigate_to_pose/_action/feedback", &options) == RCL_RET_OK;
}

int main(int argc, const char ** argv)
{
  const long rate = argc > 1 ? atol(argv[1]) : 100;
  const int has_namespaces = argc > 2;
  const int count = has_namespaces ? atoi(argv[2]) : 1;
  rcl_init_options_t init = rcl_get_zero_initialized_init_options();
  rcl_context_t context = rcl_get_zero_initialized_context();
  robot_t * robots = calloc(count, sizeof(robot_t));
  if (
    rcl_init_options_init(&init, rcl_get_default_allocator()) != RCL_RET_OK ||
    rcl_init(0, NULL, &init, &context) != RCL_RET_OK)
  {
    return 1;
  }
  for (int i = 0; i < count; ++i) {
    char name[32] = "";
    if (has_namespaces) {
      snprintf(name, sizeof(name), "r%d", i + 1);
    }
    if (!create(&context, &robots[i], name)) {
      return 1;
    }
  }
  tf2_msgs__msg__TFMessage * frames = tf2_msgs__msg__TFMessage__create();
  nav_msgs__msg__Odometry * odometry = nav_msgs__msg__Odometry__create();
  nav2_msgs__action__NavigateToPose_FeedbackMessage * said =
    nav2_msgs__action__NavigateToPose_FeedbackMessage__create();
  puts("up");
  fflush(stdout);
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (long tick = 1; tick <= SECONDS * rate; ++tick) {
    next.tv_nsec += 1000000000L / rate;
    if (next.tv_nsec >= 1000000000L) {
      next.tv_nsec -= 1000000000L;
      next.tv_sec += 1;
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    for (int i = 0; i < count; ++i) {
      while (rcl_take(&robots[i].frames, frames, NULL, NULL) == RCL_RET_OK) {
      }
      while (rcl_take(&robots[i].odometry, odometry, NULL, NULL) == RCL_RET_OK) {
      }
      if (tick % (rate / 10) == 0 && rcl_publish(&robots[i].feedback, said, NULL) != RCL_RET_OK) {
        return 1;
      }
    }
  }
  return 0;
}
