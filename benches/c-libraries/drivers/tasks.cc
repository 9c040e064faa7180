// A graph of two tasks, one after the other, on two workers.
#include <taskflow/taskflow.hpp>
#include <cassert>

int main() {
  tf::Executor executor(2);
  tf::Taskflow flow;
  int data = 0;
  auto first = flow.emplace([&] { data = 1; });
  auto second = flow.emplace([&] { assert(data == 1); data = 2; });
  first.precede(second);
  executor.run(flow).wait();
  assert(data == 2);
}
