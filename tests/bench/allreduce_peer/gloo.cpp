// SPDX-License-Identifier: GPL-3.0-or-later
// The peer: Gloo's all-reduce over TCP on the loopback, as PyTorch uses it, timed as `trainyard-cli
// bench allreduce` times its own. Arguments: bytes repeats rank ranks directory (a new one: where
// ranks find each other). Rank 0 prints median and minimum, seconds.
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

using Context = std::shared_ptr<gloo::rendezvous::Context>;
using Reduce = void (*)(void*, const void*, const void*, std::size_t);

double now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class Number>
void all_reduce(const Context& context, Number* data, std::size_t count, Reduce reduce) {
  gloo::AllreduceOptions options(context);
  options.setOutput(data, count);
  options.setReduceFunction(reduce);
  gloo::allreduce(options);
}

double once(const Context& context, std::vector<float>& data, bool rewrite) {
  if (rewrite) std::fill(data.begin(), data.end(), 0.0f);
  gloo::BarrierOptions together(context);
  gloo::barrier(together);
  double first = now();
  all_reduce<float>(context, data.data(), data.size(), gloo::sum<float>);
  double last = now();
  all_reduce<double>(context, &first, 1, gloo::min<double>);
  all_reduce<double>(context, &last, 1, gloo::max<double>);
  return last - first;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const auto elements = static_cast<std::size_t>(std::atoll(argv[1]) / 4);
  const int repeats = std::atoi(argv[2]), rank = std::atoi(argv[3]), ranks = std::atoi(argv[4]);
  auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
  gloo::rendezvous::FileStore store(argv[5]);
  const auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->connectFullMesh(store, device);
  std::vector<float> data(elements);
  for (std::size_t i = 0; i < elements; ++i)
    data[i] = static_cast<float>(i % 1009) + static_cast<float>(rank);
  once(context, data, false);
  for (std::size_t i = 0; i < elements; ++i)
    if (data[i] != static_cast<float>(ranks * static_cast<int>(i % 1009) + ranks * (ranks - 1) / 2))
      return 3;
  for (int i = 0; i < 3; ++i) once(context, data, true);
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) seconds.push_back(once(context, data, true));
  std::sort(seconds.begin(), seconds.end());
  const std::size_t half = seconds.size() / 2;
  if (rank == 0)
    std::printf("%.9f %.9f\n",
                seconds.size() % 2 == 1 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2,
                seconds[0]);
  return 0;
}
