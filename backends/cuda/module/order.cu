// SPDX-License-Identifier: GPL-3.0-or-later
#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "backends/cuda/module/error.h"
#include "backends/cuda/module/order.h"

namespace trainyard::cuda::module {

base::Result<Run> order(Device& device, const std::int32_t* keys, std::int32_t* places,
                        std::int64_t count, std::int32_t below) {
  if (count == 0) return Run([](Stream&) {});
  auto numbers = device.allocate(2 * count * static_cast<std::int64_t>(sizeof(std::int32_t)));
  if (!numbers) return base::fail(numbers.error());
  auto* const sorted = reinterpret_cast<std::int32_t*>(numbers->get());
  std::int32_t* const in_order = sorted + count;
  const int bits = std::bit_width(static_cast<std::uint32_t>(below)),
            items = static_cast<int>(count);
  std::size_t room = 0;
  const std::string what = "sort " + std::to_string(count) + " numbers of rows";
  if (const auto ok = check(cub::DeviceRadixSort::SortPairs(nullptr, room, keys, sorted, in_order,
                                                            places, items, 0, bits),
                            what);
      !ok)
    return base::fail(ok.error());
  auto memory = device.allocate(static_cast<std::int64_t>(room));
  if (!memory) return base::fail(memory.error());
  return Run([=, numbers = *numbers, memory = *memory](Stream& stream) {
    for_each(stream, count,
             [=] ON_DEVICE(std::int64_t i) { in_order[i] = static_cast<std::int32_t>(i); });
    std::size_t bytes = room;
    const auto done =
        check(cub::DeviceRadixSort::SortPairs(memory.get(), bytes, keys, sorted, in_order, places,
                                              items, 0, bits, stream.handle),
              what);
    if (!done && !stream.refused) stream.refused = done.error();
  });
}

}  // namespace trainyard::cuda::module
