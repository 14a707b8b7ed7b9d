// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/primitive.h"

#include <fmt/core.h>

#include <cstdlib>

#include "core/base/log.h"

namespace trainyard::cpu {

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void Primitive::bind(int argument, const dnnl::memory::desc& description, void* address) {
  bind(argument, dnnl::memory(description, engine_, address));
}

void Primitive::bind(int argument, dnnl::memory memory) {
  memories_.push_back(std::move(memory));
  arguments_.push_back({argument, memories_.back().get()});
}

void Primitive::run(CpuQueue& queue) {
  const ThreadBound bound(cores_);
  if (const std::size_t bytes = scratch_.get_size(); bytes > 0) {
    if (!std::exchange(scratch_bound_, true)) bind(DNNL_ARG_SCRATCHPAD, scratch_, nullptr);
    dnnl_memory_set_data_handle(arguments_.back().memory, queue.scratch(bytes));
  }
  const dnnl_status_t status = dnnl_primitive_execute(
      primitive_.get(), queue.stream(), static_cast<int>(arguments_.size()), arguments_.data());
  if (status == dnnl_success) return;
  base::log_error(fmt::format("oneDNN failed in a {} with status {}; the rank cannot continue",
                              what_, static_cast<int>(status)));
  std::abort();
}

}  // namespace trainyard::cpu
