// SPDX-License-Identifier: GPL-3.0-or-later
// Warms up a rank before training (Interpreter::warm_up).
#include <array>

#include "core/run/exchange/engine_calls.h"
#include "core/run/interpreter/interpreter_state.h"

namespace trainyard::run {

base::Result<void> Interpreter::State::warm_up() {
  const WarmUpCallbacks onlooker{
      [this](int program, int op) { is_at({.program = program, .op = op}); },
      [this](int, int) { parts.rank_progress->ops_done.fetch_add(1, std::memory_order_relaxed); },
      [this]() -> base::Result<void> {
        if (parts.gate->closed()) return base::fail(stop_problem());
        return {};
      }};
  for (int p = 0; p < std::ssize(parts.plan->programs); ++p) {
    const plan::Program& program = parts.plan->programs[static_cast<std::size_t>(p)];
    for (const BoundLoad& load : bound_program(p).loads) load_nothing(load.input);
    for (int i = 0; i < std::ssize(program.ops); ++i)
      if (program.ops[static_cast<std::size_t>(i)].lane == compute_lane)
        if (auto ran = run_alone({.program = p, .op = i}); !ran) return ran;
    if (auto ok = onlooker.may_continue(); !ok) return ok;
  }
  if (parts.engine == nullptr) return {};
  return warm_up_engine(*parts.engine, *parts.bound, onlooker);
}

// Loads a batch of zeros in both formats, floats and bytes, since a device may allocate memory for
// each.
void Interpreter::State::load_nothing(const compute::Tensor& input) {
  if (input.empty()) return;
  parts.compute->load(input, std::vector<float>(static_cast<std::size_t>(input.elements())));
  if (const auto bytes = parts.compute->allocate_host_visible(input.elements(), "samples"))
    parts.compute->load_bytes(input,
                              {reinterpret_cast<const std::uint8_t*>(bytes->get()),
                               static_cast<std::size_t>(input.elements())},
                              std::array<float, 256>{});
}

// Runs an op, and the chain that begins with it twice: in the second run the device captures the
// chain as a graph.
base::Result<void> Interpreter::State::run_alone(const plan::Frontier::Ready& ready) {
  is_at(ready);
  for (const auto& kernel : bound(ready).kernels) kernel->enqueue(*queue);
  auto ran = compute::finish(*queue);
  Chains::Chain* const chain = chains ? chains->from(ready.program, ready.op) : nullptr;
  for (int time = 0; ran && chain != nullptr && time < 2; ++time) {
    chain->given->enqueue(*queue);
    ran = compute::finish(*queue);
  }
  parts.rank_progress->ops_done.fetch_add(1, std::memory_order_relaxed);
  return ran;
}

}  // namespace trainyard::run
