/* expect: holds
 * options: -std=c++20
 * Two threads copy a shared pointer and let go of it. The C++ library counts references without atomic
 * operations as long as it believes that there is one thread: it must not, or the counts race. */
#include <cassert>
#include <memory>
#include <thread>

static int alive;

struct Item {
	Item() { alive++; }
	~Item() { alive--; }
};

int main()
{
	{
		auto item = std::make_shared<Item>();
		auto use = [item] {
			auto copy = item;
			assert(copy.use_count() >= 2);
		};
		std::thread first(use), second(use);
		first.join();
		second.join();
	}
	assert(alive == 0);
	return 0;
}
