/* Nodes with as many publishers, subscriptions, services and clients as a robot of navtree: their minimum memory on this rcl and
 * this middleware. The arguments are these four numbers and the number of nodes. Ends by itself. */
#include <rcl/rcl.h>
#include <std_msgs/msg/string.h>
#include <std_srvs/srv/trigger.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PUBLISHERS = 1, SUBSCRIPTIONS, SERVICES, CLIENTS, NODES };

static const char * name(const char * kind, int number)
{
  static char text[32];
  snprintf(text, sizeof(text), "%s%d", kind, number);
  return text;
}

/* Creates a node with its entities, which stay until the process ends. */
static int create(rcl_context_t * context, int number, const int counts[])
{
  const rosidl_message_type_support_t * message = ROSIDL_GET_MSG_TYPE_SUPPORT(std_msgs, msg, String);
  const rosidl_service_type_support_t * service = ROSIDL_GET_SRV_TYPE_SUPPORT(std_srvs, srv, Trigger);
  const rcl_node_options_t node_options = rcl_node_get_default_options();
  const rcl_publisher_options_t publisher_options = rcl_publisher_get_default_options();
  const rcl_subscription_options_t subscription_options = rcl_subscription_get_default_options();
  const rcl_service_options_t service_options = rcl_service_get_default_options();
  const rcl_client_options_t client_options = rcl_client_get_default_options();
  rcl_node_t * node = malloc(sizeof(*node));
  *node = rcl_get_zero_initialized_node();
  if (rcl_node_init(node, "robot", name("r", number), context, &node_options) != RCL_RET_OK) {
    return 0;
  }
  for (int i = 0; i < counts[PUBLISHERS]; ++i) {
    rcl_publisher_t * entity = malloc(sizeof(*entity));
    *entity = rcl_get_zero_initialized_publisher();
    if (rcl_publisher_init(entity, node, message, name("publisher", i), &publisher_options) != RCL_RET_OK) {
      return 0;
    }
  }
  for (int i = 0; i < counts[SUBSCRIPTIONS]; ++i) {
    rcl_subscription_t * entity = malloc(sizeof(*entity));
    *entity = rcl_get_zero_initialized_subscription();
    if (
      rcl_subscription_init(entity, node, message, name("subscription", i), &subscription_options) != RCL_RET_OK)
    {
      return 0;
    }
  }
  for (int i = 0; i < counts[SERVICES]; ++i) {
    rcl_service_t * entity = malloc(sizeof(*entity));
    *entity = rcl_get_zero_initialized_service();
    if (rcl_service_init(entity, node, service, name("service", i), &service_options) != RCL_RET_OK) {
      return 0;
    }
  }
  for (int i = 0; i < counts[CLIENTS]; ++i) {
    rcl_client_t * entity = malloc(sizeof(*entity));
    *entity = rcl_get_zero_initialized_client();
    if (rcl_client_init(entity, node, service, name("client", i), &client_options) != RCL_RET_OK) {
      return 0;
    }
  }
  return 1;
}

int main(int argc, const char ** argv)
{
  int counts[NODES + 1] = {0};
  for (int i = PUBLISHERS; i <= NODES && i < argc; ++i) {
    counts[i] = atoi(argv[i]);
  }
  rcl_init_options_t options = rcl_get_zero_initialized_init_options();
  rcl_context_t context = rcl_get_zero_initialized_context();
  if (
    rcl_init_options_init(&options, rcl_get_default_allocator()) != RCL_RET_OK ||
    rcl_init(0, NULL, &options, &context) != RCL_RET_OK)
  {
    return 1;
  }
  for (int i = 0; i < counts[NODES]; ++i) {
    if (!create(&context, i, counts)) {
      return 1;
    }
  }
  puts("up");
  fflush(stdout);
  sleep(20);
  return 0;
}
