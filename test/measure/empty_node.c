/* An empty node: the minimum memory of a node on this rcl and this middleware. Ends by itself. */
#include <rcl/rcl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, const char **argv)
{
  rcl_init_options_t options = rcl_get_zero_initialized_init_options();
  rcl_context_t context = rcl_get_zero_initialized_context();
  rcl_node_t node = rcl_get_zero_initialized_node();
  rcl_node_options_t node_options = rcl_node_get_default_options();
  if (
    rcl_init_options_init(&options, rcl_get_default_allocator()) != RCL_RET_OK ||
    rcl_init(argc, argv, &options, &context) != RCL_RET_OK ||
    rcl_node_init(&node, "floor", "", &context, &node_options) != RCL_RET_OK)
  {
    return 1;
  }
  puts("up");
  fflush(stdout);
  sleep(20);
  return 0;
}
