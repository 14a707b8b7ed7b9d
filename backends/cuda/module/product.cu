// SPDX-License-Identifier: GPL-3.0-or-later
#include <cstdint>

#include "backends/cuda/module/product.h"
#include "core/compute/half_precision.h"

namespace trainyard::cuda::module {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Result;
using compute::Activation;
using compute::DType;
using compute::Tensor;

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::fp64: return CUDA_R_64F;
    case DType::bf16: return CUDA_R_16BF;
    case DType::fp16: return CUDA_R_16F;
    default: return CUDA_R_32F;
  }
}

// Returns the alignment that cuBLASLt may assume: the largest power of 2 that divides the address,
// but at most the 16 bytes of a vector load. With a larger one, the choice of algorithm, and so the
// rounding, could depend on the address of a tensor.
std::uint32_t alignment_of(const Tensor& tensor) {
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data) | 16U;
  return static_cast<std::uint32_t>(address & (~address + 1));
}

std::shared_ptr<cublasLtMatmulDescOpaque_t> make_operation(const Product& p) {
  cublasLtMatmulDesc_t operation = nullptr;
  if (p.result.dtype == DType::fp64)
    cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_64F, CUDA_R_64F);
  else
    cublasLtMatmulDescCreate(&operation, p.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                             CUDA_R_32F);
  return {operation, cublasLtMatmulDescDestroy};
}

std::shared_ptr<cublasLtMatrixLayoutOpaque_t> make_layout(const Tensor& tensor, std::int64_t rows,
                                                          std::int64_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  cublasLtMatrixLayoutCreate(&layout, type_of(tensor.dtype), static_cast<std::uint64_t>(rows),
                             static_cast<std::uint64_t>(columns), rows);
  return {layout, cublasLtMatrixLayoutDestroy};
}

template <class Value>
void set(const std::shared_ptr<cublasLtMatmulDescOpaque_t>& operation,
         cublasLtMatmulDescAttributes_t which, const Value& value) {
  cublasLtMatmulDescSetAttribute(operation.get(), which, &value, sizeof value);
}

cublasLtEpilogue_t epilogue_of(const Product& p) {
  const bool relu = p.activation == Activation::relu;
  if (p.bias.empty()) return relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
  return relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
}

// Arguments of one cuBLASLt call. cuBLASLt is column-major, so it sees our matrices transposed:
// result^T [n,m] = right^T left^T. Its A is therefore our right input, and its B our left input.
struct Call {
  std::shared_ptr<cublasLtMatmulDescOpaque_t> operation;
  std::shared_ptr<cublasLtMatrixLayoutOpaque_t> a, b, c;
  cublasLtMatmulAlgo_t algorithm{};
};

Call describe(const Product& p) {
  Call call{make_operation(p),
            make_layout(p.right, p.right_transposed ? p.k : p.n, p.right_transposed ? p.n : p.k),
            make_layout(p.left, p.left_transposed ? p.m : p.k, p.left_transposed ? p.k : p.m),
            make_layout(p.result, p.n, p.m)};
  set(call.operation, CUBLASLT_MATMUL_DESC_TRANSA, p.right_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(call.operation, CUBLASLT_MATMUL_DESC_TRANSB, p.left_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(call.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(p));
  if (!p.bias.empty()) {
    set(call.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(p.bias.data));
    set(call.operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(p.bias.dtype));
  }
  return call;
}

std::shared_ptr<cublasLtMatmulPreferenceOpaque_t> preference_of(const Product& p) {
  cublasLtMatmulPreference_t made = nullptr;
  cublasLtMatmulPreferenceCreate(&made);
  const std::uint64_t room = Workspace::kBytes;
  cublasLtMatmulPreferenceSetAttribute(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room,
                                       sizeof room);
  // If cuBLASLt splits the sum over k, it must add the partial sums in fp32, whatever the dtype of
  // the result is.
  const std::uint32_t sums = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  cublasLtMatmulPreferenceSetAttribute(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &sums,
                                       sizeof sums);
  const auto align = [&](cublasLtMatmulPreferenceAttributes_t which, const Tensor& tensor) {
    const std::uint32_t bytes = alignment_of(tensor);
    cublasLtMatmulPreferenceSetAttribute(made, which, &bytes, sizeof bytes);
  };
  align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.right);
  align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.left);
  align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p.result);
  align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.result);
  return {made, cublasLtMatmulPreferenceDestroy};
}

Problem refused(const Product& p, cublasStatus_t status) {
  return {"cublas_failed",
          ProblemCode::failed,
          "cuda",
          "cuBLASLt has no product of [" + std::to_string(p.m) + ", " + std::to_string(p.k) +
              "] and [" + std::to_string(p.k) + ", " + std::to_string(p.n) + "] in " +
              std::string(base::name_of(p.left.dtype)) + " (" + cublasLtGetStatusName(status) + ")",
          "",
          ""};
}

}  // namespace

Result<std::unique_ptr<Products>> Products::make(Device& device) {
  std::unique_ptr<Products> products(new Products);
  if (const cublasStatus_t status = cublasLtCreate(&products->handle_);
      status != CUBLAS_STATUS_SUCCESS)
    return base::fail({"cublas_failed", ProblemCode::unavailable, "cuda",
                       std::string("cannot start cuBLASLt (") + cublasLtGetStatusName(status) + ")",
                       "", ""});
  auto memory = device.allocate(Workspace::kBytes);
  if (!memory) return base::fail(memory.error());
  products->workspace_.memory = std::move(*memory);
  return products;
}

Products::~Products() {
  if (handle_ != nullptr) cublasLtDestroy(handle_);
}

Result<Run> Products::product(const Product& p) {
  Call call = describe(p);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle_, call.operation.get(), call.a.get(), call.b.get(), call.c.get(), call.c.get(),
      preference_of(p).get(), 1, &found, &count);
  if (status != CUBLAS_STATUS_SUCCESS || count == 0) return base::fail(refused(p, status));
  call.algorithm = found.algo;
  return Run([handle = handle_, call = std::move(call), p,
              room = workspace_.memory](Stream& stream) {
    const double one = 1, add = p.accumulates ? 1 : 0;
    const float one_float = 1, add_float = p.accumulates ? 1.0F : 0.0F;
    const bool of_doubles = p.result.dtype == DType::fp64;
    const cublasStatus_t made = cublasLtMatmul(
        handle, call.operation.get(), of_doubles ? static_cast<const void*>(&one) : &one_float,
        p.right.data, call.a.get(), p.left.data, call.b.get(),
        of_doubles ? static_cast<const void*>(&add) : &add_float, p.result.data, call.c.get(),
        p.result.data, call.c.get(), &call.algorithm, room.get(), Workspace::kBytes, stream.handle);
    if (made != CUBLAS_STATUS_SUCCESS && !stream.refused) stream.refused = refused(p, made);
  });
}

}  // namespace trainyard::cuda::module
