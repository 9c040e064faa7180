// The owner adds and takes, a thief steals: each item is had once.
#include "wsq.hpp"
#include <cassert>
#include <thread>

int main() {
  WorkStealingQueue<int> queue(2);
  int had[4] = {};
  queue.push(1);
  std::thread thief([&] {
    if (auto item = queue.steal()) had[*item] += 10;
    if (auto item = queue.steal()) had[*item] += 10;
  });
  queue.push(2);
  int own[4] = {};
  if (auto item = queue.pop()) own[*item]++;
  if (auto item = queue.pop()) own[*item]++;
  thief.join();
  while (auto item = queue.pop()) own[*item]++;
  for (int i = 1; i <= 2; i++) assert(own[i] + had[i] / 10 == 1);
}
