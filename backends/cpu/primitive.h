// SPDX-License-Identifier: GPL-3.0-or-later
// oneDNN primitive with its arguments bound once. Running it is a single C call.
#pragma once

#include <fmt/core.h>

#include <string>
#include <vector>

#include "backends/cpu/queue.h"
#include "backends/cpu/threads.h"
#include "core/base/result.h"

namespace trainyard::cpu {

// Returns the attributes of every primitive: the caller provides the scratchpad. A scratchpad of
// the library would belong to the thread that prepared the primitive.
dnnl::primitive_attr user_scratchpad();

class Primitive {
 public:
  // `what` names the primitive in error messages, for example "matrix product".
  template <class Description>
  Primitive(dnnl::primitive primitive, const Description& description, const dnnl::engine& engine,
            int cores, std::string what)
      : what_(std::move(what)),
        cores_(cores),
        primitive_(std::move(primitive)),
        scratch_(description.scratchpad_desc()),
        engine_(engine) {}

  void bind(int argument, const dnnl::memory::desc& description, void* address);
  void bind(int argument, dnnl::memory memory);
  // Runs the primitive. Call it only after the last `bind`.
  void run(CpuQueue& queue);

 private:
  std::string what_;
  int cores_;
  dnnl::primitive primitive_;
  dnnl::memory::desc scratch_;
  dnnl::engine engine_;
  bool scratch_bound_ = false;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

// Calls prepare(), which creates oneDNN primitives. Returns a Problem if oneDNN reports an error.
template <class Prepare>
auto prepare_with_dnnl(int cores, const char* what, const Prepare& prepare)
    -> base::Result<decltype(prepare())> {
  try {
    const ThreadBound bound(cores);
    return prepare();
  } catch (const dnnl::error& error) {
    return base::fail({"onednn_failed", base::ProblemCode::unavailable, "oneDNN",
                       fmt::format("cannot prepare a {}: {}", what, error.what()), "", ""});
  }
}

}  // namespace trainyard::cpu
