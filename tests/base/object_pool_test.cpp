// ObjectPool: each object has one user at a time, and no object is lost.
#include "core/base/object_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace epiphyte::core {
namespace {

std::atomic<int> g_alive{0};
struct Object {
  Object() { ++g_alive; }
  ~Object() { --g_alive; }
  std::atomic<int> users{0};
};

TEST(ObjectPool, AcquireReturnsAReleasedObject) {
  ObjectPool<Object> pool;
  EXPECT_EQ(pool.Acquire(), nullptr);
  auto first = std::make_unique<Object>();
  auto second = std::make_unique<Object>();
  const Object* const addresses[] = {first.get(), second.get()};
  pool.Release(std::move(first));
  pool.Release(std::move(second));
  const auto a = pool.Acquire(), b = pool.Acquire();
  EXPECT_TRUE((a.get() == addresses[0] && b.get() == addresses[1]) ||
              (a.get() == addresses[1] && b.get() == addresses[0]));
  EXPECT_EQ(pool.Acquire(), nullptr);
}

TEST(ObjectPool, ThreadGetsTheObjectThatItReleasedLast) {
  ObjectPool<Object> pool;
  std::promise<void> gave, others_gave;
  const Object* given = nullptr;
  const Object* taken = nullptr;
  std::thread one([&] {
    auto object = std::make_unique<Object>();
    given = object.get();
    pool.Release(std::move(object));
    gave.set_value();
    others_gave.get_future().wait();
    taken = pool.Acquire().get();
  });
  gave.get_future().wait();
  std::thread([&] { pool.Release(std::make_unique<Object>()); }).join();
  others_gave.set_value();
  one.join();
  EXPECT_EQ(taken, given);
}

TEST(ObjectPool, ThreadGetsObjectsThatOthersReleased) {
  ObjectPool<Object> pool;
  // There are more threads than slots in the pool.
  for (int i = 0; i < 20; ++i) std::thread([&] { pool.Release(std::make_unique<Object>()); }).join();
  for (int i = 0; i < 20; ++i) EXPECT_NE(pool.Acquire(), nullptr) << i;
  EXPECT_EQ(pool.Acquire(), nullptr);
}

TEST(ObjectPool, ObjectsAreDestroyedWithThePool) {
  g_alive = 0;
  {
    ObjectPool<Object> pool;
    for (int i = 0; i < 3; ++i) pool.Release(std::make_unique<Object>());
    std::thread([&] { pool.Release(std::make_unique<Object>()); }).join();
    EXPECT_EQ(g_alive, 4);
  }
  EXPECT_EQ(g_alive, 0);
}

TEST(ObjectPool, ObjectHasOneUserAtATime) {
  g_alive = 0;
  constexpr int kThreads = 8;
  {
    ObjectPool<Object> pool;
    std::atomic<bool> shared{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20000; ++i) {
          std::unique_ptr<Object> object = pool.Acquire();
          if (object == nullptr) object = std::make_unique<Object>();
          if (object->users.fetch_add(1) != 0) shared = true;
          if (i % 64 == 0) std::this_thread::yield();
          object->users.fetch_sub(1);
          pool.Release(std::move(object));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(shared);
  }
  EXPECT_EQ(g_alive, 0);
}

}  // namespace
}  // namespace epiphyte::core
