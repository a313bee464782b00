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

/* Creates entities of a kind, which stay until the process ends. */
#define CREATE(KIND, COUNT, TYPE) \
  for (int i = 0; i < (COUNT); ++i) { \
    const rcl_##KIND##_options_t options = rcl_##KIND##_get_default_options(); \
    rcl_##KIND##_t * entity = malloc(sizeof(*entity)); \
    *entity = rcl_get_zero_initialized_##KIND(); \
    if (rcl_##KIND##_init(entity, node, TYPE, name(#KIND, i), &options) != RCL_RET_OK) { \
      return 0; \
    } \
  }

/* Creates a node with its entities. */
static int create(rcl_context_t * context, int number, const int counts[])
{
  const rosidl_message_type_support_t * message = ROSIDL_GET_MSG_TYPE_SUPPORT(std_msgs, msg, String);
  const rosidl_service_type_support_t * service = ROSIDL_GET_SRV_TYPE_SUPPORT(std_srvs, srv, Trigger);
  const rcl_node_options_t options = rcl_node_get_default_options();
  rcl_node_t * node = malloc(sizeof(*node));
  *node = rcl_get_zero_initialized_node();
  if (rcl_node_init(node, "robot", name("r", number), context, &options) != RCL_RET_OK) {
    return 0;
  }
  CREATE(publisher, counts[PUBLISHERS], message)
  CREATE(subscription, counts[SUBSCRIPTIONS], message)
  CREATE(service, counts[SERVICES], service)
  CREATE(client, counts[CLIENTS], service)
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
