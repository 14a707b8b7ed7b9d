// SPDX-License-Identifier: GPL-3.0-or-later
// Convolutions by cuDNN, with a library that stands in for cuDNN's. That they equal the reference,
// tests of conformance say (host/conformance_test.cpp).
#include "backends/cuda/module/cudnn/cudnn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/base/functions.h"
#include "core/compute/half_precision.h"
#include "tests/backends/cuda/host/host_device.h"
#include "tests/backends/cuda/library/cudnn_stand_in.h"
#include "tests/conformance/compute_image_cases.h"

namespace trainyard::cuda {
namespace {

using compute::DType;
using compute::Multiplies;
using compute::Tensor;
using conformance::Case;
using conformance::ImageSizes;
using conformance::Values;
using testing::HasSubstr;

stand_in::Cudnn& library() {
  stand_in::Cudnn* (*find)() = nullptr;
  base::Functions(TRAINYARD_CUDNN, "").find(find, "cudnn_stand_in");
  return *find();
}

// Each test finds it as it is at first, and leaves it so.
class Cudnn : public testing::Test {
 protected:
  ~Cudnn() override { library_ = before_; }

  const stand_in::Cudnn before_ = library();
  stand_in::Cudnn& library_ = library();
};

constexpr ImageSizes kSizes{2, 9, 7, 5, 6, {3, 2, 1}};

std::vector<Case> convolutions(Values& values, DType dtype, const ImageSizes& sizes) {
  return {conformance::conv2d_forward(values, dtype, sizes, compute::Activation::none),
          conformance::conv2d_forward(values, dtype, sizes, compute::Activation::relu),
          conformance::conv2d_forward(values, dtype, sizes, compute::Activation::tanh),
          conformance::conv2d_backward_input(values, dtype, sizes),
          conformance::conv2d_backward_weight(values, dtype, sizes)};
}

// All of them, with `change`d ops; and what is made on a device.
template <class Change>
std::vector<std::byte> made_by(compute::Compute& device, DType dtype, const Change& change) {
  Values values;
  std::vector<std::byte> all;
  for (Case& one : convolutions(values, dtype, kSizes)) {
    std::visit(change, one.op);
    conformance::run(device, one.op);
    for (const auto& [name, result] : one.results)
      all.insert(all.end(), result.data, result.data + result.bytes());
  }
  return all;
}
std::vector<std::byte> made_by(compute::Compute& device, DType dtype = DType::fp32) {
  return made_by(device, dtype, [](auto&) {});
}

// Returns the op with the tensors between layers in `half`, as in mixed precision.
template <class Op>
Op halved(Op op, DType half, Values& values) {
  compute::for_each_activation(op, [&](Tensor& tensor, compute::Use) {
    const Tensor rounded = values.zeros(half, tensor.shape);
    compute::round(half, tensor.as<float>(), rounded.data, tensor.elements());
    tensor = rounded;
  });
  return op;
}

TEST_F(Cudnn, runs_supported_ops_and_fuses_bias_and_activation) {
  made_by(*on_host({.cudnn = TRAINYARD_CUDNN}));
  EXPECT_EQ(library_.outputs_with_bias - before_.outputs_with_bias, 2 * 2)
      << "none and relu; each is tried once before, as all are";
  EXPECT_EQ(library_.outputs - before_.outputs, 2) << "tanh comes afterwards";
  EXPECT_EQ(library_.input_gradients - before_.input_gradients, 2);
  EXPECT_EQ(library_.weight_gradients - before_.weight_gradients, 2);
}

// An output of 16 bits is rounded once, after its activation; the gradient of a weight is fp32,
// which cuDNN makes of no 16 bits.
TEST_F(Cudnn, with_16_bits_runs_only_ops_that_round_once) {
  const auto device = on_host({.cudnn = TRAINYARD_CUDNN});
  for (const DType half : {DType::bf16, DType::fp16}) {
    Values values;
    for (const Case& one : convolutions(values, DType::fp32, kSizes))
      std::visit([&](const auto& op) { conformance::run(*device, halved(op, half, values)); },
                 one.op);
  }
  EXPECT_EQ(library_.outputs_with_bias - before_.outputs_with_bias, 2 * 2 * 2);
  EXPECT_EQ(library_.outputs, before_.outputs);
  EXPECT_EQ(library_.input_gradients - before_.input_gradients, 2 * 2);
  EXPECT_EQ(library_.weight_gradients, before_.weight_gradients);
}

TEST_F(Cudnn, uses_tf32_on_request) {
  const auto device = on_host({.cudnn = TRAINYARD_CUDNN});
  const auto in_tf32 = [](auto& op) {
    if constexpr (requires { op.multiplies; }) op.multiplies = Multiplies::tf32;
  };
  const auto full = made_by(*device);
  const std::int64_t asked = library_.all() - before_.all();
  EXPECT_NE(made_by(*device, DType::fp32, in_tf32), full);
  EXPECT_EQ(library_.all() - before_.all(), 2 * asked) << "the same convolutions";
  EXPECT_EQ(made_by(*device), full) << "as before";
}

TEST_F(Cudnn, leaves_fp64_and_rounded_and_unsupported_ops_to_the_column_kernels) {
  const auto device = on_host({.cudnn = TRAINYARD_CUDNN}), columns = on_host();
  const auto rounds = [](auto& op) {
    if constexpr (requires { op.multiplies; }) op.multiplies = Multiplies::bfloat16;
  };
  EXPECT_EQ(made_by(*device, DType::fp64), made_by(*columns, DType::fp64));
  EXPECT_EQ(made_by(*device, DType::fp32, rounds), made_by(*columns, DType::fp32, rounds));
  library_.has_algorithms = false;
  EXPECT_EQ(made_by(*device), made_by(*columns));
  EXPECT_EQ(library_.all(), before_.all());
}

TEST_F(Cudnn, without_fused_bias_runs_a_bias_kernel) {
  library_.adds_bias = false;
  made_by(*on_host({.cudnn = TRAINYARD_CUDNN}));
  EXPECT_EQ(library_.outputs_with_bias, before_.outputs_with_bias);
  EXPECT_EQ(library_.outputs - before_.outputs, 2 * 3);
}

TEST_F(Cudnn, that_fails_in_a_trial_leaves_all_ops_to_the_column_kernels) {
  library_.makes = false;
  EXPECT_EQ(made_by(*on_host({.cudnn = TRAINYARD_CUDNN})), made_by(*on_host()));
}

TEST_F(Cudnn, that_fails_at_execution_is_reported) {
  const auto device = on_host({.cudnn = TRAINYARD_CUDNN});
  const auto queue = device->make_queue();
  Values values;
  const auto kernel =
      device->prepare(conformance::conv2d_backward_input(values, DType::fp32, kSizes).op);
  ASSERT_TRUE(kernel);
  library_.makes = false;
  (*kernel)->enqueue(*queue);
  const auto state = queue->state();
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().id, "cudnn_failed");
  EXPECT_THAT(state.error().what, HasSubstr("CUDNN_STATUS_EXECUTION_FAILED"));
}

TEST_F(Cudnn, stays_loaded_while_a_prepared_op_exists) {
  Values values;
  auto device = on_host({.cudnn = TRAINYARD_CUDNN});
  const auto queue = device->make_queue();
  const auto kernel =
      std::move(device
                    ->prepare(conformance::conv2d_forward(values, DType::fp32, kSizes,
                                                          compute::Activation::relu)
                                  .op)
                    .value());
  device.reset();
  kernel->enqueue(*queue);
  EXPECT_TRUE(queue->state());
}

std::string name_or_problem_id(const std::string& file) {
  const auto opened =
      cudnn::open([](std::int64_t) -> base::Result<compute::Memory> { return nullptr; }, file);
  if (opened) return (*opened)->name();
  EXPECT_EQ(opened.error().code, base::ProblemCode::unavailable);
  return opened.error().id;
}

TEST_F(Cudnn, reports_its_version_and_what_is_wrong_with_it) {
  const std::size_t of_header = library_.version;
  EXPECT_THAT(name_or_problem_id(TRAINYARD_CUDNN), testing::StartsWith("cuDNN 9."));
  EXPECT_EQ(name_or_problem_id("/no/such/library.so"), "library_unavailable");
  EXPECT_EQ(name_or_problem_id("libm.so.6"), "library_unavailable");
  library_.version = 90'000;
  EXPECT_EQ(name_or_problem_id(TRAINYARD_CUDNN), "cuDNN 9.0.0")
      << "that version has all required functions";
  library_.version = 8'907;
  EXPECT_EQ(name_or_problem_id(TRAINYARD_CUDNN), "library_unavailable");
  library_.version = of_header + 10'000;
  EXPECT_EQ(name_or_problem_id(TRAINYARD_CUDNN), "library_unavailable");
  library_.version = of_header, library_.starts = false;
  EXPECT_EQ(name_or_problem_id(TRAINYARD_CUDNN), "cudnn_unavailable");
}

}  // namespace
}  // namespace trainyard::cuda
