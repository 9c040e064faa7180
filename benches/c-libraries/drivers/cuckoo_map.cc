// Two threads count in the same entry of a map.
#include <libcuckoo/cuckoohash_map.hh>
#include <cassert>
#include <thread>

int main() {
  libcuckoo::cuckoohash_map<int, int> map(2);
  map.insert(7, 0);
  auto add = [&] { map.update_fn(7, [](int &n) { n++; }); };
  std::thread first(add);
  map.upsert(7, [](int &n) { n++; }, 0);
  first.join();
  assert(map.find(7) == 2);
}
