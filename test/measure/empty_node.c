/* An empty node: the minimum memory of a node on this rcl and this middleware. Ends by itself. */
#include "entities.h"
#include <unistd.h>

int main(void)
{
  rcl_context_t context;
  rcl_node_t node;
  create_context(&context);
  create_node(&context, &node, "floor", "");
  report_up();
  sleep(20);
  return 0;
}
