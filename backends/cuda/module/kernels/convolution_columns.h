// SPDX-License-Identifier: GPL-3.0-or-later
// Convolutions as matrix products. The columns (im2col) are [B H' W', I K K]: one row per output
// pixel, with the values in its window, in the order of the weight. They are created for some
// samples at a time, so that they take at most kMaxColumnBytes bytes.
#pragma once

#include "backends/cuda/module/kernels/linear.h"
#include "backends/cuda/module/kernels/pool.h"

namespace trainyard::cuda {

// Maximum size of the columns in bytes; exceeded if a single sample needs more.
inline constexpr std::int64_t kMaxColumnBytes = std::int64_t{64} << 20;

// im2col: columns[(b,y,x), (i,r,s)] = value at (r, s) of channel i in the window at output (y, x),
// or 0 outside the image.
template <class W>
void gather(Stream& stream, const Tensor& image, const Window& window, const Shape& result,
            const Tensor& columns) {
  const std::int64_t width = columns.shape[1], area = window.kernel * window.kernel;
  for_each(stream, columns.elements(), [=] ON_DEVICE(std::int64_t i) {
    const std::int64_t at = i / width, c = i % width / area, r = i % area / window.kernel,
                       s = i % area % window.kernel;
    const std::int64_t b = at / (result[1] * result[2]), row = at / result[2] % result[1],
                       column = at % result[2];
    const std::int64_t y = row * window.stride + r - window.padding,
                       x = column * window.stride + s - window.padding;
    const bool inside = y >= 0 && y < image.shape[1] && x >= 0 && x < image.shape[2];
    put(columns, i, inside ? get<W>(image, element_at(image.shape, b, y, x, c)) : W{0});
  });
}

// col2im: each pixel is the sum of all its occurrences in the columns.
template <class W>
void scatter(Stream& stream, const Tensor& columns, const Window& window, const Shape& result,
             const Tensor& image) {
  const std::int64_t width = columns.shape[1], area = window.kernel * window.kernel;
  for_each(stream, image.elements(), [=] ON_DEVICE(std::int64_t i) {
    const PixelIndex at = place_of(image.shape, i);
    W sum = 0;
    windows_on(window, result, at.y, at.x,
               [&](std::int64_t r, std::int64_t s, std::int64_t row, std::int64_t column) {
                 sum += get<W>(columns, ((at.b * result[1] + row) * result[2] + column) * width +
                                            at.c * area + r * window.kernel + s);
               });
    put(image, i, sum);
  });
}

// Returns a view of `count` samples of a batch of images, from sample `first` on.
inline Tensor samples_of(const Tensor& images, std::int64_t first, std::int64_t count) {
  Tensor some = images;
  some.data += first * (images.elements() / std::max<std::int64_t>(1, images.shape[0])) *
               base::size_of(images.dtype);
  some.shape.extents[0] = count;
  return some;
}

// Views [B,H',W',O] as rows of channels.
inline Tensor as_rows(const Tensor& images) {
  return {images.dtype,
          {images.shape[0] * images.shape[1] * images.shape[2], images.shape[3]},
          images.data};
}

// Slices of a batch. A slice has `samples` samples, and its columns are in memory at one time.
struct Slices {
  std::int64_t batch, samples;
  Owned columns;

  Tensor columns_of(std::int64_t count) const {
    Tensor some = columns.tensor;
    some.shape.extents[0] = columns.tensor.shape[0] / samples * count;
    return some;
  }
};

inline base::Result<Slices> make_slices(Device& device, DType dtype, const Shape& result,
                                        std::int64_t width) {
  const std::int64_t pixels = result[1] * result[2],
                     of_sample = pixels * width * base::size_of(dtype);
  const std::int64_t samples = std::clamp<std::int64_t>(kMaxColumnBytes / of_sample, 1,
                                                        std::max<std::int64_t>(1, result[0]));
  auto columns = allocate(device, dtype, {samples * pixels, width});
  if (!columns) return base::fail(columns.error());
  return Slices{result[0], samples, std::move(*columns)};
}

// Prepares the work of all slices of a batch, in order. make_one(first sample, count) prepares the
// work of one slice.
template <class Make>
base::Result<Run> by_slices(const Slices& slices, const Make& make_one) {
  std::vector<Run> runs;
  for (std::int64_t first = 0; first < slices.batch; first += slices.samples) {
    auto one = make_one(first, std::min(slices.samples, slices.batch - first));
    if (!one) return one;
    runs.push_back(std::move(*one));
  }
  return keeping({slices.columns.memory}, in_order(std::move(runs)));
}

// Views a weight [O,I,K,K] as a matrix.
inline Tensor as_matrix(const Tensor& weight) {
  return {weight.dtype,
          {weight.shape[0], weight.shape[1] * weight.shape[2] * weight.shape[3]},
          weight.data};
}

template <class W>
base::Result<Run> by_columns(Device& device, const compute::Conv2dForward& op) {
  const Tensor weight = as_matrix(op.weight);
  auto slices = make_slices(device, op.input.dtype, op.output.shape, weight.shape[1]);
  if (!slices) return base::fail(slices.error());
  return by_slices(*slices, [&](std::int64_t first, std::int64_t count) -> base::Result<Run> {
    const Tensor images = samples_of(op.input, first, count), columns = slices->columns_of(count),
                 output = samples_of(op.output, first, count);
    auto product = make<W>(device, compute::LinearForward{columns, weight, op.bias, as_rows(output),
                                                          op.activation, op.multiplies});
    if (!product) return product;
    return Run([images, columns, window = op.window, result = output.shape,
                product = *product](Stream& stream) {
      gather<W>(stream, images, window, result, columns);
      product(stream);
    });
  });
}

// Prepares the input gradient of a convolution. Columns are summed into pixels before rounding.
template <class W>
base::Result<Run> by_columns(Device& device, const compute::Conv2dBackwardInput& op) {
  const Tensor weight = as_matrix(op.weight);
  auto slices = make_slices(device, compute::wide(op.output_gradient.dtype),
                            op.output_gradient.shape, weight.shape[1]);
  if (!slices) return base::fail(slices.error());
  return by_slices(*slices, [&](std::int64_t first, std::int64_t count) -> base::Result<Run> {
    const Tensor columns = slices->columns_of(count),
                 images = samples_of(op.input_gradient, first, count),
                 gradient = samples_of(op.output_gradient, first, count);
    auto product = make<W>(
        device, compute::LinearBackwardInput{as_rows(gradient), weight, columns, op.multiplies});
    if (!product) return product;
    return Run([images, columns, window = op.window, result = gradient.shape,
                product = *product](Stream& stream) {
      product(stream);
      scatter<W>(stream, columns, window, result, images);
    });
  });
}

// Prepares the weight gradient of a convolution. The slices of the batch are added one after
// another.
template <class W>
base::Result<Run> by_columns(Device& device, const compute::Conv2dBackwardWeight& op) {
  const Tensor weight = as_matrix(op.weight_gradient);
  auto slices = make_slices(device, op.input.dtype, op.output_gradient.shape, weight.shape[1]);
  if (!slices) return base::fail(slices.error());
  auto sliced =
      by_slices(*slices, [&](std::int64_t first, std::int64_t count) -> base::Result<Run> {
        const Tensor images = samples_of(op.input, first, count),
                     columns = slices->columns_of(count),
                     gradient = samples_of(op.output_gradient, first, count);
        Product product;
        product.left = as_rows(gradient), product.right = columns, product.result = weight;
        product.m = weight.shape[0], product.n = weight.shape[1], product.k = columns.shape[0];
        product.left_transposed = product.accumulates = true;
        auto multiplied = make_product<W>(device, product, op.multiplies);
        if (!multiplied) return multiplied;
        return Run([images, columns, window = op.window, result = gradient.shape,
                    multiplied = *multiplied](Stream& stream) {
          gather<W>(stream, images, window, result, columns);
          multiplied(stream);
        });
      });
  if (!sliced) return sliced;
  auto rest = make_bias_and_norm<W>(device, as_rows(op.output_gradient), op.weight_gradient,
                                    op.bias_gradient, op.squared_norm);
  if (!rest) return rest;
  return in_order(
      {run_of<W>(compute::Zero{op.weight_gradient}), std::move(*sliced), std::move(*rest)});
}

}  // namespace trainyard::cuda
