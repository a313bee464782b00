/* A loop at a rate in Hz: its minimum load on this rcl and this middleware, with the topics of a navigation. The argument is
 * the rate. It publishes the feedback of the navigation at 10 Hz. It has one thread, which takes the messages at its ticks and
 * ignores them. Ends by itself. */
#include "entities.h"
#include <nav2_msgs/action/navigate_to_pose.h>
#include <nav_msgs/msg/odometry.h>
#include <tf2_msgs/msg/tf_message.h>

int main(int argc, const char ** argv)
{
  const long rate = argc > 1 ? atol(argv[1]) : 100;
  rcl_context_t context;
  rcl_node_t node;
  rcl_subscription_t frames, odometry;
  rcl_publisher_t feedback;
  create_context(&context);
  create_node(&context, &node, "loop", "");
  CREATE(subscription, &frames, &node, ROSIDL_GET_MSG_TYPE_SUPPORT(tf2_msgs, msg, TFMessage), "tf");
  CREATE(subscription, &odometry, &node, ROSIDL_GET_MSG_TYPE_SUPPORT(nav_msgs, msg, Odometry), "odom");
  CREATE(publisher, &feedback, &node, ROSIDL_GET_MSG_TYPE_SUPPORT(nav2_msgs, action, NavigateToPose_FeedbackMessage),
    "navigate_to_pose/_action/feedback");
  tf2_msgs__msg__TFMessage * frames_message = tf2_msgs__msg__TFMessage__create();
  nav_msgs__msg__Odometry * odometry_message = nav_msgs__msg__Odometry__create();
  nav2_msgs__action__NavigateToPose_FeedbackMessage * feedback_message =
    nav2_msgs__action__NavigateToPose_FeedbackMessage__create();
  report_up();
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (long tick = 1; tick <= SECONDS * rate; ++tick) {
    sleep_until_next(&next, rate);
    take_all(&frames, frames_message);
    take_all(&odometry, odometry_message);
    if (tick % (rate / 10) == 0) {
      CHECK(rcl_publish(&feedback, feedback_message, NULL) == RCL_RET_OK)
    }
  }
  return 0;
}
