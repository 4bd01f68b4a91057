/* A pool of threads as programs have them: run(count, f) calls f(0) … f(count - 1), on
   the pool's threads and the caller's, and returns when all are done. */

#ifndef POOL_H
#define POOL_H

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
public:
    explicit Pool(int threads)
    {
        for (int i = 1; i < threads; i++)
            workers_.emplace_back([this] { work(); });
    }

    ~Pool()
    {
        {
            std::lock_guard<std::mutex> hold(mutex_);
            over_ = true;
        }
        changed_.notify_all();
        for (std::thread &worker : workers_)
            worker.join();
    }

    void run(int count, const std::function<void(int)> &task)
    {
        std::unique_lock<std::mutex> hold(mutex_);
        task_ = &task;
        next_ = 0;
        count_ = left_ = count;
        changed_.notify_all();
        take(hold);
        changed_.wait(hold, [this] { return left_ == 0; });
        task_ = nullptr;
    }

private:
    /* Run what is left to take; the mutex is held outside of tasks. */
    void take(std::unique_lock<std::mutex> &hold)
    {
        while (task_ != nullptr && next_ < count_) {
            const std::function<void(int)> &task = *task_;
            const int own = next_++;
            hold.unlock();
            task(own);
            hold.lock();
            if (--left_ == 0)
                changed_.notify_all();
        }
    }

    void work()
    {
        std::unique_lock<std::mutex> hold(mutex_);
        while (!over_) {
            take(hold);
            changed_.wait(hold, [this] {
                return over_ || (task_ != nullptr && next_ < count_);
            });
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::thread> workers_;
    const std::function<void(int)> *task_ = nullptr;
    int next_ = 0, count_ = 0, left_ = 0;
    bool over_ = false;
};

#endif
