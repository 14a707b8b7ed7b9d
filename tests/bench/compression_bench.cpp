// SPDX-License-Identifier: GPL-3.0-or-later
// Cost of gradient compression: nanoseconds per number of a gradient, the best of many rounds on
// one core, for 100,000 numbers by default. "decode" of gathered data adds four parts, and "of that
// a part" is a fourth of it; "sum" adds the 16-bit numbers of two ranks. The constants of
// core/strategy/compression.cpp come from here. First prints the flop/s of this core in matrix
// products.
//
// bench_compression [NUMBERS]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "backends/cpu/cpu.h"
#include "core/base/clock.h"
#include "core/base/random.h"
#include "core/compute/compression/power_sgd_layout.h"
#include "core/compute/compression/scheme.h"
#include "core/compute/ops.h"

namespace {

using namespace trainyard;
using compute::DType;
using compute::Tensor;
using compute::compression::CompressionSpec;
using compute::compression::Scheme;

constexpr std::int64_t kParts = 4;
constexpr int kRounds = 300;

template <class Number>
Tensor flat(std::vector<Number>& values, DType dtype) {
  return {dtype,
          {static_cast<std::int64_t>(values.size()) * static_cast<std::int64_t>(sizeof(Number)) /
           base::size_of(dtype)},
          reinterpret_cast<std::byte*>(values.data())};
}

// Gradients are about normally distributed, with widths that differ from layer to layer.
std::vector<float> gradient_of(std::int64_t elements) {
  const base::Random random(1, base::Purpose::generate, 0);
  std::vector<float> values(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(random.normal(i) *
                                   std::pow(10.0, -2 - static_cast<double>(i * 3 / values.size())));
  return values;
}

template <class Work>
double nanoseconds(const Work& work) {
  auto best = std::numeric_limits<std::int64_t>::max();
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t begin = base::now_nanoseconds();
    work();
    best = std::min(best, base::now_nanoseconds() - begin);
  }
  return static_cast<double>(best);
}

class Bench {
 public:
  explicit Bench(std::int64_t elements)
      : elements_(elements),
        gradient_(gradient_of(elements)),
        decoded_(gradient_.size()),
        residual_(gradient_.size()) {}

  void print_peak() {
    constexpr std::int64_t side = 512;
    std::vector<float> a(side * side, 1), b(a), c(a);
    const auto matrix = [](std::vector<float>& values) {
      return Tensor{DType::fp32, {side, side}, reinterpret_cast<std::byte*>(values.data())};
    };
    const double takes = enqueued(compute::LinearForward{matrix(a), matrix(b), {}, matrix(c)});
    std::printf("peak of this core: %.3g flop/s\n", 2e9 * side * side * side / takes);
  }

  void print_scheme(const CompressionSpec& spec) {
    const std::int64_t of_rank = compute::compression::encoded_elements(spec, elements_),
                       parts = compute::compression::gathers(spec.kind) ? kParts : 1;
    const DType dtype = compute::compression::wire_dtype(spec.kind);
    std::vector<std::byte> encoded(
        static_cast<std::size_t>(of_rank * parts * base::size_of(dtype)));
    const Tensor all = flat(encoded, dtype), own{dtype, {of_rank}, encoded.data()};
    const Tensor residual =
        compute::compression::feeds_back(spec) ? flat(residual_, DType::fp32) : Tensor{};
    const double encode = enqueued(compute::CompressGradient{flat(gradient_, DType::fp32), residual,
                                                             own, flat(error_, DType::fp64),
                                                             flat(step_, DType::fp64), spec, 1, 0});
    for (std::int64_t p = 1; p < parts; ++p)
      std::copy_n(encoded.begin(), of_rank, encoded.begin() + p * of_rank);
    const double decode = enqueued(compute::DecompressGradient{
        all, flat(decoded_, DType::fp32), flat(step_, DType::fp64), spec, parts, 1, 0});
    const std::string fraction = compute::compression::keeps_part(spec.kind)
                                     ? " " + std::to_string(std::lround(100 * spec.fraction)) + " %"
                                     : "";
    print(std::string(base::name_of(spec.kind)) + fraction, encode, decode, parts);
    if (dtype == DType::fp16 || dtype == DType::bf16) print_sum(dtype, encoded);
  }

  void print_power_sgd(std::int64_t rank) {
    const std::int64_t columns = 256, rows = elements_ / columns;
    const compute::compression::Matrix matrix{0, rows, columns};
    const auto layout = compute::compression::power_sgd_layout(std::span(&matrix, 1), rank);
    const Tensor source{
        DType::fp32, {layout.elements}, reinterpret_cast<std::byte*>(residual_.data())};
    const Tensor gradient{
        DType::fp32, {layout.elements}, reinterpret_cast<std::byte*>(gradient_.data())};
    std::vector<float> left(static_cast<std::size_t>(layout.left_elements)),
        right(static_cast<std::size_t>(layout.right_elements)), basis(left), guess(right);
    const auto fp32 = [](std::vector<float>& values) { return flat(values, DType::fp32); };
    double encode =
        enqueued(compute::PowerSgdLeft{gradient, source, fp32(guess), fp32(left), layout, 1, 0});
    encode +=
        enqueued(compute::PowerSgdRight{source, fp32(left), fp32(basis), fp32(right), layout});
    const double decode =
        enqueued(compute::PowerSgdDecode{fp32(left), fp32(basis), fp32(right), gradient, source,
                                         fp32(guess), flat(error_, DType::fp64), layout, kParts});
    print("power_sgd " + std::to_string(rank), encode, decode, 1);
  }

 private:
  double enqueued(const compute::Op& op) {
    auto kernel = compute_->prepare(op);
    if (!kernel)
      std::fprintf(stderr, "%s\n", base::to_string(kernel.error()).c_str()), std::exit(3);
    return nanoseconds([&] { (*kernel)->enqueue(*queue_); });
  }

  void print_sum(DType dtype, std::vector<std::byte>& halves) {
    const std::byte* const sources[] = {halves.data(), halves.data()};
    std::vector<std::byte> sum(halves.size());
    const double takes = nanoseconds([&] { compute_->sum(dtype, sum.data(), sources, elements_); });
    std::printf("%-12s %8s %8s %14s %8.2f\n", "  sum of 2", "", "", "",
                takes / static_cast<double>(elements_));
  }

  void print(const std::string& what, double encode, double decode, std::int64_t parts) const {
    const auto numbers = static_cast<double>(elements_);
    std::printf("%-12s %8.2f %8.2f %14.2f\n", what.c_str(), encode / numbers, decode / numbers,
                decode / numbers / static_cast<double>(parts));
  }

  std::int64_t elements_;
  std::vector<float> gradient_, decoded_, residual_;
  std::vector<double> error_{0}, step_{1};
  std::unique_ptr<compute::Compute> compute_ = cpu::make().value();
  std::unique_ptr<compute::Queue> queue_ = compute_->make_queue();
};

}  // namespace

int main(int argc, char** argv) {
  Bench bench(argc > 1 ? std::atoll(argv[1]) : 100'000);
  bench.print_peak();
  std::printf("%-12s %8s %8s %14s %8s   ns a number\n", "", "encode", "decode", "of that a part",
              "sum");
  for (const Scheme kind : {Scheme::fp16, Scheme::bf16, Scheme::int8, Scheme::sign})
    bench.print_scheme({kind, 0.01, 4, true});
  for (const Scheme kind : {Scheme::top_k, Scheme::random_k})
    for (const double fraction : {0.01, 0.1, 0.5}) bench.print_scheme({kind, fraction, 4, true});
  for (const std::int64_t rank : {2, 4, 8}) bench.print_power_sgd(rank);
}
