/* Nodes with as many publishers, subscriptions, services and clients as a robot of navtree: their minimum memory on this rcl
 * and this middleware. The arguments are these four numbers and the number of nodes. Ends by itself. */
#include "entities.h"
#include <std_msgs/msg/string.h>
#include <std_srvs/srv/trigger.h>
#include <unistd.h>

enum { PUBLISHERS = 1, SUBSCRIPTIONS, SERVICES, CLIENTS, NODES };

static const char * name(const char * kind, int number)
{
  static char text[32];
  snprintf(text, sizeof(text), "%s%d", kind, number);
  return text;
}

#define CREATE_MANY(KIND, COUNT, TYPE) \
  for (int i = 0; i < (COUNT); ++i) { \
    rcl_##KIND##_t * entity = malloc(sizeof(*entity)); \
    CREATE(KIND, entity, node, TYPE, name(#KIND, i)); \
  }

/* Creates a node with its entities. */
static void create_robot(rcl_context_t * context, int number, const int counts[])
{
  const rosidl_message_type_support_t * message = ROSIDL_GET_MSG_TYPE_SUPPORT(std_msgs, msg, String);
  const rosidl_service_type_support_t * service = ROSIDL_GET_SRV_TYPE_SUPPORT(std_srvs, srv, Trigger);
  rcl_node_t * node = malloc(sizeof(*node));
  create_node(context, node, "robot", name("r", number));
  CREATE_MANY(publisher, counts[PUBLISHERS], message)
  CREATE_MANY(subscription, counts[SUBSCRIPTIONS], message)
  CREATE_MANY(service, counts[SERVICES], service)
  CREATE_MANY(client, counts[CLIENTS], service)
}

int main(int argc, const char ** argv)
{
  int counts[NODES + 1] = {0};
  for (int i = PUBLISHERS; i <= NODES && i < argc; ++i) {
    counts[i] = atoi(argv[i]);
  }
  rcl_context_t context;
  create_context(&context);
  for (int i = 0; i < counts[NODES]; ++i) {
    create_robot(&context, i, counts);
  }
  report_up();
  sleep(20);
  return 0;
}
