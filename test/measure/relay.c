/* Passes a client's goal on to the planner and its cancel to the controller: the minimum latency of these on this rcl and this
 * middleware. One thread waits for the requests and sends the others at once, without a tree. Ends by itself. */
#include "entities.h"
#include <action_msgs/srv/cancel_goal.h>
#include <nav2_msgs/action/compute_path_to_pose.h>
#include <nav2_msgs/action/navigate_to_pose.h>
#include <rcl/graph.h>
#include <unistd.h>

enum { GOAL, RESULT, CANCEL, SERVICES };
enum { PLAN, STOP, CLIENTS };

static rcl_service_t services[SERVICES];
static rcl_client_t clients[CLIENTS];

static void create_entities(rcl_node_t * node)
{
  const rosidl_service_type_support_t * cancel = ROSIDL_GET_SRV_TYPE_SUPPORT(action_msgs, srv, CancelGoal);
  CREATE(service, &services[GOAL], node, ACTION_SERVICE(NavigateToPose, SendGoal), "navigate_to_pose/_action/send_goal");
  CREATE(service, &services[RESULT], node, ACTION_SERVICE(NavigateToPose, GetResult), "navigate_to_pose/_action/get_result");
  CREATE(service, &services[CANCEL], node, cancel, "navigate_to_pose/_action/cancel_goal");
  CREATE(client, &clients[PLAN], node, ACTION_SERVICE(ComputePathToPose, SendGoal), "compute_path_to_pose/_action/send_goal");
  CREATE(client, &clients[STOP], node, cancel, "follow_path/_action/cancel_goal");
}

/* Waits for the servers: a request without a server is lost. */
static void wait_for_servers(const rcl_node_t * node)
{
  for (int i = 0; i < CLIENTS; ++i) {
    bool is_available = false;
    while (!is_available) {
      CHECK(rcl_service_server_is_available(node, &clients[i], &is_available) == RCL_RET_OK)
      usleep(1000);
    }
  }
}

/* Waits until one of the entities has a message. */
static void wait(rcl_wait_set_t * set)
{
  CHECK(rcl_wait_set_clear(set) == RCL_RET_OK)
  for (int i = 0; i < SERVICES; ++i) {
    CHECK(rcl_wait_set_add_service(set, &services[i], NULL) == RCL_RET_OK)
  }
  for (int i = 0; i < CLIENTS; ++i) {
    CHECK(rcl_wait_set_add_client(set, &clients[i], NULL) == RCL_RET_OK)
  }
  const rcl_ret_t ret = rcl_wait(set, RCL_S_TO_NS(1));
  CHECK(ret == RCL_RET_OK || ret == RCL_RET_TIMEOUT)
}

static int take(int service, rmw_request_id_t * header, void * into)
{
  return rcl_take_request(&services[service], header, into) == RCL_RET_OK;
}

static void answer(int service, rmw_request_id_t * header, void * what)
{
  CHECK(rcl_send_response(&services[service], header, what) == RCL_RET_OK)
}

int main(void)
{
  rcl_context_t context;
  rcl_node_t node;
  rcl_wait_set_t set = rcl_get_zero_initialized_wait_set();
  create_context(&context);
  create_node(&context, &node, "relay", "");
  create_entities(&node);
  CHECK(rcl_wait_set_init(&set, 0, 0, 0, CLIENTS, SERVICES, 0, &context, rcl_get_default_allocator()) == RCL_RET_OK)
  nav2_msgs__action__NavigateToPose_SendGoal_Request * goal = nav2_msgs__action__NavigateToPose_SendGoal_Request__create();
  nav2_msgs__action__NavigateToPose_SendGoal_Response accepted = {.accepted = true};
  nav2_msgs__action__NavigateToPose_GetResult_Request ask;
  nav2_msgs__action__ComputePathToPose_SendGoal_Request * plan =
    nav2_msgs__action__ComputePathToPose_SendGoal_Request__create();
  nav2_msgs__action__ComputePathToPose_SendGoal_Response planned;
  action_msgs__srv__CancelGoal_Request cancel;
  action_msgs__srv__CancelGoal_Response * stopped = action_msgs__srv__CancelGoal_Response__create();
  action_msgs__srv__CancelGoal_Response cancelled = {0};
  rmw_request_id_t header;
  wait_for_servers(&node);
  report_up();
  const time_t end = time(NULL) + SECONDS;
  while (time(NULL) < end) {
    wait(&set);
    if (take(GOAL, &header, goal)) {
      plan->goal_id = goal->goal_id;
      send_request(&clients[PLAN], plan);
      answer(GOAL, &header, &accepted);
    }
    if (take(CANCEL, &header, &cancel)) {
      send_request(&clients[STOP], &cancel);
      answer(CANCEL, &header, &cancelled);
    }
    take(RESULT, &header, &ask);
    while (take_response(&clients[PLAN], &planned)) {
    }
    while (take_response(&clients[STOP], stopped)) {
    }
  }
  return 0;
}
