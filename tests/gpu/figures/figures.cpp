// SPDX-License-Identifier: GPL-3.0-or-later
// Performance of the first GPU of this machine, one row per figure: memory throughput of copies,
// optimizers and element-wise ops, compression, products, and the launch overhead of a step.
//
// gpu_figures [--small]        small: tiny sizes, to check that everything runs
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/random.h"
#include "core/base/units.h"
#include "core/compute/ops.h"
#include "tests/gpu/gpus.h"

namespace trainyard::tests {
namespace {

using compute::DType;
using compute::Tensor;
using Kernels = std::vector<std::unique_ptr<compute::Kernel>>;

constexpr int kWarm = 3, kTimed = 11;

template <class Value>
Value must(base::Result<Value> result) {
  if (!result) throw std::runtime_error(base::to_string(result.error()));
  return std::move(*result);
}

Tensor part(const Tensor& flat, std::int64_t first, compute::Shape shape) {
  return {flat.dtype, shape, flat.data + first * base::size_of(flat.dtype)};
}

class Bench {
 public:
  Bench() : compute_(gpu(0)), queue_(compute_->make_queue()) {}

  Tensor tensor(DType dtype, compute::Shape shape) {
    const Tensor made{dtype, shape, nullptr};
    // Numbers that the host writes are few.
    auto& memory = memory_.emplace_back(
        must(dtype == DType::fp64 ? compute_->allocate_host_visible(made.bytes(), "figures")
                                  : compute_->allocate(made.bytes(), "figures")));
    return {dtype, shape, memory.get()};
  }
  // Normal numbers, the same in every piece.
  void fill(const Tensor& tensor) {
    std::vector<float> piece(
        static_cast<std::size_t>(std::min<std::int64_t>(tensor.elements(), 1 << 20)));
    const base::Random random(1, base::Purpose::generate, 0);
    for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = static_cast<float>(random.normal(i));
    const auto size = std::ssize(piece);
    for (std::int64_t first = 0; first + size <= tensor.elements(); first += size)
      compute_->load(part(tensor, first, {size}), piece);
  }
  void add(Kernels& kernels, const compute::Op& op) {
    kernels.push_back(must(compute_->prepare(op)));
  }

  // Returns a chain of kernels by op; null if the device does not support chains.
  std::unique_ptr<compute::Chain> chain(const std::vector<Kernels>& ops) {
    std::vector<std::vector<compute::Kernel*>> chained;
    for (const Kernels& op : ops)
      for (auto& of_op = chained.emplace_back(); const auto& kernel : op)
        of_op.push_back(kernel.get());
    return compute_->chain(std::move(chained));
  }

  // The median of several times, in seconds, from the first call until all has run; `calls`: until
  // all is asked for.
  double seconds(const Kernels& kernels) {
    return seconds([&](compute::Queue& queue) {
      for (const auto& kernel : kernels) kernel->enqueue(queue);
    });
  }
  double seconds(const std::function<void(compute::Queue&)>& ask, double* calls = nullptr) {
    std::vector<double> whole, asking;
    for (int i = 0; i < kWarm + kTimed; ++i) {
      const std::int64_t begin = base::now_nanoseconds();
      ask(*queue_);
      const std::int64_t asked = base::now_nanoseconds();
      if (const auto ok = compute::finish(*queue_); !ok)
        throw std::runtime_error(base::to_string(ok.error()));
      if (i < kWarm) continue;
      whole.push_back(base::seconds(base::now_nanoseconds() - begin));
      asking.push_back(base::seconds(asked - begin));
    }
    if (calls != nullptr) *calls = median(asking);
    return median(whole);
  }

  // Compute::sum, which waits for its end.
  double seconds_of_sum(DType dtype, std::int64_t elements) {
    const Tensor one = tensor(dtype, {elements}), other = tensor(dtype, {elements}),
                 sum = tensor(dtype, {elements});
    const std::array<const std::byte*, 2> sources{one.data, other.data};
    return seconds([&](compute::Queue&) { compute_->sum(dtype, sum.data, sources, elements); });
  }

 private:
  static double median(std::vector<double>& of) {
    std::nth_element(of.begin(), of.begin() + kTimed / 2, of.end());
    return of[kTimed / 2];
  }

  std::unique_ptr<compute::Compute> compute_;
  std::unique_ptr<compute::Queue> queue_;
  std::vector<compute::Memory> memory_;
};

void row(const std::string& name, const std::string& figure) {
  std::printf("%-64s %s\n", name.c_str(), figure.c_str());
}

std::string with_digits(double value, const char* format) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Returns the verdict on a figure with a target.
std::string judged(bool met) { return met ? ")" : ", MISSED)"; }

double copied(Bench& bench, std::int64_t elements) {
  Kernels copy;
  bench.add(copy, compute::Copy{bench.tensor(DType::fp32, {elements}),
                                bench.tensor(DType::fp32, {elements})});
  const double rate = 2.0 * 4.0 * static_cast<double>(elements) / bench.seconds(copy);
  row("copy on the GPU, read and written", base::with_unit(rate, "B/s"));
  return rate;
}

// Parameters and moments are read and written, the gradient is read.
void updated(Bench& bench, std::int64_t elements, double copy_rate) {
  const auto flat = [&](DType dtype, std::int64_t count) { return bench.tensor(dtype, {count}); };
  const auto one = [&] {  // a factor of 0 would be an update that changes nothing
    const Tensor made = flat(DType::fp64, 1);
    *made.as<double>() = 1;
    return made;
  };
  const auto common = [&] {
    return compute::UpdateInputs{flat(DType::fp32, elements), flat(DType::fp32, elements), one(),
                                 one(), flat(DType::fp64, 3)};
  };
  const auto tell = [&](const std::string& name, const Kernels& update, int arrays) {
    const double rate = 4.0 * arrays * static_cast<double>(elements) / bench.seconds(update);
    row(name, base::with_unit(rate, "B/s") + ", " + with_digits(rate / copy_rate, "%.2f") +
                  " of a copy's (0.85 wanted" + judged(rate >= 0.85 * copy_rate));
  };
  Kernels sgd, adam;
  bench.add(sgd, compute::SgdUpdate{
                     .common = common(), .moment = flat(DType::fp32, elements), .momentum = 0.9});
  tell("SGD with momentum", sgd, 5);
  bench.add(adam, compute::AdamUpdate{.common = common(),
                                      .first_moment = flat(DType::fp32, elements),
                                      .second_moment = flat(DType::fp32, elements),
                                      .step = one(),
                                      .decoupled = true});
  tell("AdamW", adam, 7);
}

// Sums of collectives, for gradients of two ranks.
void added(Bench& bench, std::int64_t elements, double copy_rate) {
  for (const DType dtype : {DType::fp32, DType::bf16}) {
    const double rate = 3.0 * static_cast<double>(base::size_of(dtype) * elements) /
                        bench.seconds_of_sum(dtype, elements);
    row("sum of two ranks' gradients in " + std::string(base::name_of(dtype)),
        base::with_unit(rate, "B/s") + ", " + with_digits(rate / copy_rate, "%.2f") +
            " of a copy's");
  }
}

// 16-bit ops, with few bytes for their number of elements.
void passed_on(Bench& bench, std::int64_t elements, double copy_rate) {
  const auto numbers = [&] { return bench.tensor(DType::bf16, {elements}); };
  const auto tell = [&](const std::string& name, const compute::Op& op, int arrays) {
    Kernels kernels;
    bench.add(kernels, op);
    const double rate = 2.0 * arrays * static_cast<double>(elements) / bench.seconds(kernels);
    row(name, base::with_unit(rate, "B/s") + ", " + with_digits(rate / copy_rate, "%.2f") +
                  " of a copy's");
  };
  tell("GELU in bf16", compute::GeluForward{numbers(), numbers()}, 2);
  tell("its gradient in bf16", compute::GeluBackward{numbers(), numbers(), numbers()}, 3);
  tell("sum of two in bf16", compute::Add{numbers(), numbers(), numbers()}, 3);
}

// Beside a copy of the gradient.
void compressed(Bench& bench, std::int64_t elements, double copy_rate) {
  using compute::compression::Scheme;
  const Tensor gradient = bench.tensor(DType::fp32, {elements}),
               residual = bench.tensor(DType::fp32, {elements});
  bench.fill(gradient);
  const Tensor step = bench.tensor(DType::fp64, {1}), error = bench.tensor(DType::fp64, {1});
  const auto tell = [&](const std::string& name, const compute::Op& op) {
    Kernels kernels;
    bench.add(kernels, op);
    const double seconds = bench.seconds(kernels),
                 copies = seconds * copy_rate / (8.0 * static_cast<double>(elements));
    row(name, base::with_unit(static_cast<double>(elements) / seconds, "numbers/s") +
                  ", the time of " + with_digits(copies, "%.1f") + " copies");
  };
  for (const Scheme kind :
       {Scheme::bf16, Scheme::int8, Scheme::sign, Scheme::top_k, Scheme::random_k}) {
    const compute::compression::CompressionSpec spec{.kind = kind};
    const Tensor encoded = bench.tensor(compute::compression::wire_dtype(kind),
                                        {compute::compression::encoded_elements(spec, elements)});
    const Tensor decoded = bench.tensor(DType::fp32, {elements});
    const std::string name(base::name_of(kind));
    tell("gradient compressed by " + name,
         compute::CompressGradient{gradient,
                                   compute::compression::feeds_back(spec) ? residual : Tensor{},
                                   encoded, error, step, spec, 7, 3});
    tell("and decoded from " + name,
         compute::DecompressGradient{encoded, decoded, step, spec, 1, 7, 3});
  }
}

void multiplied(Bench& bench, DType dtype, std::int64_t side) {
  Kernels product;
  const auto square = [&] { return bench.tensor(dtype, {side, side}); };
  bench.add(product, compute::LinearForward{square(), square(), {}, square()});
  const double flops = 2.0 * static_cast<double>(side * side * side) / bench.seconds(product);
  row("product of " + std::to_string(side) + " x " + std::to_string(side) + " in " +
          std::string(base::name_of(dtype)),
      base::with_unit(flops, "FLOP/s"));
}

// A training step of the digits' MLP, op by op as a rank has them.
std::vector<Kernels> mlp_step(Bench& bench, std::int64_t batch) {
  std::vector<Kernels> ops;
  const auto add = [&](const compute::Op& op) { bench.add(ops.emplace_back(), op); };
  const auto fp64 = [&](std::int64_t count) { return bench.tensor(DType::fp64, {count}); };
  const std::vector<std::int64_t> units{784, 512, 512, 10};
  const std::size_t layers = units.size() - 1;
  std::vector<Tensor> outputs, output_gradients, parameters, gradients;
  for (const std::int64_t width : units) {
    outputs.push_back(bench.tensor(DType::fp32, {batch, width}));
    output_gradients.push_back(bench.tensor(DType::fp32, {batch, width}));
  }
  const auto weight = [&](const std::vector<Tensor>& of, std::size_t l) {
    return part(of[l], 0, {units[l + 1], units[l]});
  };
  const auto bias = [&](const std::vector<Tensor>& of, std::size_t l) {
    return part(of[l], units[l + 1] * units[l], {units[l + 1]});
  };
  const auto activation = [&](std::size_t l) {
    return l + 1 == layers ? compute::Activation::none : compute::Activation::relu;
  };
  for (std::size_t l = 0; l < layers; ++l) {
    for (auto* of : {&parameters, &gradients})
      of->push_back(bench.tensor(DType::fp32, {units[l + 1] * (units[l] + 1)}));
    add(compute::LinearForward{outputs[l], weight(parameters, l), bias(parameters, l),
                               outputs[l + 1], activation(l)});
  }
  add(compute::SoftmaxCrossEntropy{outputs[layers], bench.tensor(DType::int32, {batch}),
                                   output_gradients[layers], fp64(2),
                                   1 / static_cast<double>(batch)});
  for (std::size_t l = layers; l-- > 0;) {
    if (l > 0)
      add(compute::LinearBackwardInput{output_gradients[l + 1], weight(parameters, l),
                                       output_gradients[l]});
    if (l > 0)
      bench.add(ops.back(),
                compute::ActivationBackward{outputs[l], output_gradients[l], activation(l - 1)});
    add(compute::LinearBackwardWeight{outputs[l], output_gradients[l + 1], weight(gradients, l),
                                      bias(gradients, l), fp64(1)});
  }
  for (std::size_t l = 0; l < layers; ++l)
    add(compute::SgdUpdate{.common = {parameters[l], gradients[l], fp64(1), {}, fp64(3)},
                           .moment = bench.tensor(DType::fp32, parameters[l].shape),
                           .momentum = 0.9});
  return ops;
}

// A step that is asked for op by op, and as one.
void launched(Bench& bench, std::int64_t batch) {
  const std::vector<Kernels> ops = mlp_step(bench, batch);
  const auto tell = [&](const std::string& how, const std::function<void(compute::Queue&)>& ask) {
    double asking = 0;
    const double whole = bench.seconds(ask, &asking);
    const std::string wanted = how == "as one" ? " (30 us wanted" + judged(asking <= 30e-6) : "";
    row("a step of the digits' MLP, " + std::to_string(batch) + " samples, " + how,
        base::format_seconds(whole) + ", of which " + base::format_seconds(asking) +
            " to ask for it" + wanted);
  };
  tell("op by op", [&](compute::Queue& queue) {
    for (const Kernels& op : ops) {
      for (const auto& kernel : op) kernel->enqueue(queue);
      queue.record();
    }
  });
  if (const auto chain = bench.chain(ops))
    tell("as one", [&](compute::Queue& queue) { chain->enqueue(queue); });
}

int run(bool small) {
  Bench bench;
  const std::int64_t elements = small ? 1 << 12 : 1 << 26, side = small ? 64 : 4096;
  const double copy_rate = copied(bench, elements);
  updated(bench, elements, copy_rate);
  added(bench, elements, copy_rate);
  passed_on(bench, elements, copy_rate);
  compressed(bench, elements, copy_rate);
  for (const DType dtype : {DType::fp32, DType::bf16}) multiplied(bench, dtype, side);
  launched(bench, small ? 8 : 128);
  return 0;
}

}  // namespace
}  // namespace trainyard::tests

int main(int count, char** arguments) try {
  return trainyard::tests::run(count > 1 && std::string_view(arguments[1]) == "--small");
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
