// SPDX-License-Identifier: GPL-3.0-or-later
// Convolution in fp64 as one matrix product per sample. Its left matrix (im2col) has the shape
// [H'W', K K I]: one row per output pixel, with the input values in the pixel's window.
#include <algorithm>

#include "backends/cpu/activation.h"
#include "backends/cpu/blas.h"
#include "backends/cpu/convolution.h"
#include "backends/cpu/norm.h"

namespace trainyard::cpu {
namespace {

using compute::Queue;
using compute::Tensor;

// Sizes of a convolution, as plain integers.
struct ConvolutionSizes {
  ConvolutionSizes(const Tensor& image, const Tensor& result, const compute::Window& w)
      : samples(image.shape[0]),
        height(image.shape[1]),
        width(image.shape[2]),
        channels(image.shape[3]),
        rows(result.shape[1]),
        columns(result.shape[2]),
        outputs(result.shape[3]),
        window(w) {}

  std::int64_t pixels() const { return rows * columns; }
  // Returns the number of input values in a window, on which one output value depends.
  std::int64_t seen() const { return window.kernel * window.kernel * channels; }
  std::int64_t image_elements() const { return height * width * channels; }
  std::int64_t result_elements() const { return pixels() * outputs; }
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>((pixels() + outputs) * seen()) * sizeof(double);
  }

  std::int64_t samples, height, width, channels, rows, columns, outputs;
  compute::Window window;
};

// Calls visit(column, pixel) for each position in each window. Both pointers refer to `channels`
// values: `column` in the im2col matrix, `pixel` in the image. `pixel` is null outside the image.
template <class Image, class Visit>
void for_columns(const ConvolutionSizes& s, Image* image, double* columns, const Visit& visit) {
  for (std::int64_t row = 0; row < s.rows; ++row)
    for (std::int64_t column = 0; column < s.columns; ++column)
      for (std::int64_t r = 0; r < s.window.kernel; ++r)
        for (std::int64_t c = 0; c < s.window.kernel; ++c, columns += s.channels) {
          const std::int64_t y = row * s.window.stride + r - s.window.padding,
                             x = column * s.window.stride + c - s.window.padding;
          const bool inside = y >= 0 && y < s.height && x >= 0 && x < s.width;
          visit(columns, inside ? image + (y * s.width + x) * s.channels : nullptr);
        }
}

void write_columns(const ConvolutionSizes& s, const double* image, double* columns) {
  for_columns(s, image, columns, [&](double* to, const double* from) {
    if (from != nullptr) std::copy_n(from, s.channels, to);
    else std::fill_n(to, s.channels, 0.0);
  });
}

void add_columns(const ConvolutionSizes& s, double* columns, double* image) {
  for_columns(s, image, columns, [&](const double* from, double* to) {
    if (to != nullptr) std::transform(from, from + s.channels, to, to, std::plus<>());
  });
}

// Converts weights between the layouts [O,I,K,K] and [O, K K I].
template <class Copy>
void for_weights(const ConvolutionSizes& s, const Copy& copy) {
  const std::int64_t square = s.window.kernel * s.window.kernel;
  for (std::int64_t o = 0; o < s.outputs; ++o)
    for (std::int64_t i = 0; i < s.channels; ++i)
      for (std::int64_t k = 0; k < square; ++k)
        copy((o * s.channels + i) * square + k, (o * square + k) * s.channels + i);
}

}  // namespace

PreparedKernel prepare_columns(const compute::Conv2dForward& op) {
  return make_kernel([op, s = ConvolutionSizes(op.input, op.output, op.window)](Queue& queue) {
    auto* const weight =
        reinterpret_cast<double*>(static_cast<CpuQueue&>(queue).scratch(s.scratch_bytes()));
    double* const columns = weight + s.outputs * s.seen();
    for_weights(s, [&](std::int64_t plain, std::int64_t laid) {
      weight[laid] = op.weight.as<double>()[plain];
    });
    for (std::int64_t b = 0; b < s.samples; ++b) {
      double* const output = op.output.as<double>() + b * s.result_elements();
      write_columns(s, op.input.as<double>() + b * s.image_elements(), columns);
      for (std::int64_t p = 0; p < s.pixels(); ++p)
        std::copy_n(op.bias.as<double>(), s.outputs, output + p * s.outputs);
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, to_blas(s.pixels()), to_blas(s.outputs),
                  to_blas(s.seen()), 1, columns, to_blas(s.seen()), weight, to_blas(s.seen()), 1,
                  output, to_blas(s.outputs));
      activate(op.activation, output, s.result_elements());
    }
  });
}

PreparedKernel prepare_columns(const compute::Conv2dBackwardInput& op) {
  return make_kernel([op, s = ConvolutionSizes(op.input_gradient, op.output_gradient, op.window)](
                         Queue& queue) {
    auto* const weight =
        reinterpret_cast<double*>(static_cast<CpuQueue&>(queue).scratch(s.scratch_bytes()));
    double* const columns = weight + s.outputs * s.seen();
    for_weights(s, [&](std::int64_t plain, std::int64_t laid) {
      weight[laid] = op.weight.as<double>()[plain];
    });
    std::fill_n(op.input_gradient.as<double>(), op.input_gradient.elements(), 0.0);
    for (std::int64_t b = 0; b < s.samples; ++b) {
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, to_blas(s.pixels()), to_blas(s.seen()),
                  to_blas(s.outputs), 1, op.output_gradient.as<double>() + b * s.result_elements(),
                  to_blas(s.outputs), weight, to_blas(s.seen()), 0, columns, to_blas(s.seen()));
      add_columns(s, columns, op.input_gradient.as<double>() + b * s.image_elements());
    }
  });
}

PreparedKernel prepare_columns(const compute::Conv2dBackwardWeight& op, int cores) {
  auto run = [op, cores, s = ConvolutionSizes(op.input, op.output_gradient, op.window),
              norm = GradientNorm<double>(op.weight_gradient, op.bias_gradient, op.squared_norm,
                                          cores)](Queue& queue) mutable {
    auto* const weight =
        reinterpret_cast<double*>(static_cast<CpuQueue&>(queue).scratch(s.scratch_bytes()));
    double* const columns = weight + s.outputs * s.seen();
    for (std::int64_t b = 0; b < s.samples; ++b) {
      write_columns(s, op.input.as<double>() + b * s.image_elements(), columns);
      cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, to_blas(s.outputs), to_blas(s.seen()),
                  to_blas(s.pixels()), 1, op.output_gradient.as<double>() + b * s.result_elements(),
                  to_blas(s.outputs), columns, to_blas(s.seen()), b == 0 ? 0 : 1, weight,
                  to_blas(s.seen()));
    }
    for_weights(s, [&](std::int64_t plain, std::int64_t laid) {
      op.weight_gradient.as<double>()[plain] = weight[laid];
    });
    sum_columns(op.output_gradient.as<double>(), s.samples * s.pixels(), s.outputs,
                op.bias_gradient.as<double>(), cores);
    norm();
  };
  return make_kernel(std::move(run));
}

}  // namespace trainyard::cpu
