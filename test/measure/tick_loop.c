/* A loop at the rate in Hz of its argument: its minimum load on this rcl and this middleware, with the topics of a navigation.
 * It subscribes to /tf and /odom and publishes the feedback of the navigation at 10 Hz. It has one thread and one wait set, which
 * is never rebuilt, and it ignores the messages. Ends by itself. */
#include <nav2_msgs/action/navigate_to_pose.h>
#include <nav_msgs/msg/odometry.h>
#include <rcl/rcl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tf2_msgs/msg/tf_message.h>
#include <time.h>

#define SECONDS 120LL

static int64_t now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int subscribe(
  rcl_subscription_t * subscription, rcl_node_t * node, const char * topic,
  const rosidl_message_type_support_t * type)
{
  rcl_subscription_options_t options = rcl_subscription_get_default_options();
  *subscription = rcl_get_zero_initialized_subscription();
  return rcl_subscription_init(subscription, node, type, topic, &options) == RCL_RET_OK;
}

int main(int argc, const char ** argv)
{
  const int64_t rate = argc > 1 ? atoi(argv[1]) : 100;
  const int64_t period = 1000000000LL / rate;
  rcl_init_options_t init = rcl_get_zero_initialized_init_options();
  rcl_context_t context = rcl_get_zero_initialized_context();
  rcl_node_t node = rcl_get_zero_initialized_node();
  rcl_node_options_t node_options = rcl_node_get_default_options();
  rcl_publisher_t publisher = rcl_get_zero_initialized_publisher();
  rcl_publisher_options_t publisher_options = rcl_publisher_get_default_options();
  rcl_subscription_t subscriptions[2];
  rcl_wait_set_t set = rcl_get_zero_initialized_wait_set();
  const rosidl_message_type_support_t * out =
    ROSIDL_GET_MSG_TYPE_SUPPORT(nav2_msgs, action, NavigateToPose_FeedbackMessage);
  if (
    rcl_init_options_init(&init, rcl_get_default_allocator()) != RCL_RET_OK ||
    rcl_init(0, NULL, &init, &context) != RCL_RET_OK ||
    rcl_node_init(&node, "loop", "", &context, &node_options) != RCL_RET_OK ||
    !subscribe(&subscriptions[0], &node, "/tf", ROSIDL_GET_MSG_TYPE_SUPPORT(tf2_msgs, msg, TFMessage)) ||
    !subscribe(&subscriptions[1], &node, "/odom", ROSIDL_GET_MSG_TYPE_SUPPORT(nav_msgs, msg, Odometry)) ||
    rcl_publisher_init(
      &publisher, &node, out, "/navigate_to_pose/_action/feedback", &publisher_options) != RCL_RET_OK ||
    rcl_wait_set_init(&set, 2, 0, 0, 0, 0, 0, &context, rcl_get_default_allocator()) != RCL_RET_OK)
  {
    return 1;
  }
  tf2_msgs__msg__TFMessage * frames = tf2_msgs__msg__TFMessage__create();
  nav_msgs__msg__Odometry * odometry = nav_msgs__msg__Odometry__create();
  nav2_msgs__action__NavigateToPose_FeedbackMessage * said =
    nav2_msgs__action__NavigateToPose_FeedbackMessage__create();
  void * messages[2] = {frames, odometry};
  puts("up");
  fflush(stdout);
  const int64_t start = now();
  for (int64_t tick = 1; tick * period < SECONDS * 1000000000LL; ++tick) {
    int64_t left;
    while ((left = start + tick * period - now()) > 0) {
      if (rcl_wait_set_clear(&set) != RCL_RET_OK) {
        return 1;
      }
      for (int i = 0; i < 2; ++i) {
        if (rcl_wait_set_add_subscription(&set, &subscriptions[i], NULL) != RCL_RET_OK) {
          return 1;
        }
      }
      if (rcl_wait(&set, left) != RCL_RET_OK) {
        continue;
      }
      for (int i = 0; i < 2; ++i) {
        if (set.subscriptions[i] && rcl_take(&subscriptions[i], messages[i], NULL, NULL) != RCL_RET_OK) {
          return 1;
        }
      }
    }
    if (tick % (rate / 10) == 0 && rcl_publish(&publisher, said, NULL) != RCL_RET_OK) {
      return 1;
    }
  }
  return 0;
}
