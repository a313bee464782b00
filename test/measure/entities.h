/* What the nodes in C of this folder share. A failed call ends the process: the measurement then fails. */
#pragma once
#include <rcl/rcl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(CALL) \
  if (!(CALL)) { \
    fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #CALL); \
    exit(1); \
  }

/* The seconds after which a node ends by itself. */
#define SECONDS 120L

/* The type of a service of an action of Nav2. */
#define ACTION_SERVICE(ACTION, PART) ROSIDL_GET_SRV_TYPE_SUPPORT(nav2_msgs, action, ACTION##_##PART)

/* Creates a publisher, subscription, service or client with its default options. It stays until the process ends. */
#define CREATE(KIND, ENTITY, NODE, TYPE, NAME) \
  do { \
    const rcl_##KIND##_options_t options = rcl_##KIND##_get_default_options(); \
    *(ENTITY) = rcl_get_zero_initialized_##KIND(); \
    CHECK(rcl_##KIND##_init(ENTITY, NODE, TYPE, NAME, &options) == RCL_RET_OK) \
  } while (0)

static inline void create_context(rcl_context_t * context)
{
  rcl_init_options_t options = rcl_get_zero_initialized_init_options();
  *context = rcl_get_zero_initialized_context();
  CHECK(rcl_init_options_init(&options, rcl_get_default_allocator()) == RCL_RET_OK)
  CHECK(rcl_init(0, NULL, &options, context) == RCL_RET_OK)
}

static inline void create_node(rcl_context_t * context, rcl_node_t * node, const char * name, const char * space)
{
  const rcl_node_options_t options = rcl_node_get_default_options();
  *node = rcl_get_zero_initialized_node();
  CHECK(rcl_node_init(node, name, space, context, &options) == RCL_RET_OK)
}

/* Takes all messages of a topic, and ignores them. */
static inline void take_all(const rcl_subscription_t * subscription, void * into)
{
  while (rcl_take(subscription, into, NULL, NULL) == RCL_RET_OK) {
  }
}

/* Takes the next response of a service. Returns whether there was one. */
static inline int take_response(const rcl_client_t * client, void * into)
{
  rmw_request_id_t header;
  return rcl_take_response(client, &header, into) == RCL_RET_OK;
}

static inline void send_request(const rcl_client_t * client, const void * request)
{
  int64_t number;
  CHECK(rcl_send_request(client, request, &number) == RCL_RET_OK)
}

/* Tells the program that measures that this process is ready. */
static inline void report_up(void)
{
  puts("up");
  fflush(stdout);
}

/* Sleeps until the next tick of a rate in Hz. */
static inline void sleep_until_next(struct timespec * next, long rate)
{
  next->tv_nsec += 1000000000L / rate;
  if (next->tv_nsec >= 1000000000L) {
    next->tv_nsec -= 1000000000L;
    next->tv_sec += 1;
  }
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
}
