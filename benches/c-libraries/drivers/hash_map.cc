// Two threads add to a map of several submaps, each behind a mutex.
#include <mutex>
#include <parallel_hashmap/phmap.h>
#include <cassert>
#include <thread>

using Map = phmap::parallel_flat_hash_map<int, int, phmap::priv::hash_default_hash<int>, phmap::priv::hash_default_eq<int>,
                                          std::allocator<std::pair<const int, int>>, 1, std::mutex>;

int main() {
  Map map;
  map[7] = 0;
  auto add = [&] { map.lazy_emplace_l(7, [](Map::value_type &p) { p.second++; }, [](const Map::constructor &make) { make(7, 1); }); };
  std::thread first(add);
  add();
  first.join();
  assert(map[7] == 2);
}
