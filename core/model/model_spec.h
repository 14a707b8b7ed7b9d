// SPDX-License-Identifier: GPL-3.0-or-later
// The `model` part of an experiment: a list of layers, ending in a softmax cross-entropy loss over
// the classes.
//
// Wide and deep model (Cheng et al. 2016, "Wide & Deep Learning for Recommender Systems"). The deep
// part is an embedding_bag and linear layers. A wide layer at the end adds the logits of a linear
// model of the same indices. Both parts are trained together.
#pragma once

#include <vector>

#include "core/base/field_table.h"

namespace trainyard::model {

enum class LayerKind {
  linear,
  relu,
  tanh,
  // Activation x Phi(x), with the normal distribution function Phi. Unlike relu and tanh, gelu is a
  // segment of its own, because its gradient needs its input.
  gelu,
  // Convolution with a window that slides over an image; see `compute::Conv2dForward`.
  conv2d,
  max_pool,      // Maximum of each window, per channel.
  average_pool,  // Mean of each window.
  // Batch normalization: normalizes each channel to mean 0 and standard deviation 1, over the
  // samples of the rank or of all ranks, then scales and shifts.
  batch_norm,
  // Layer normalization: normalizes each row of channels to mean 0 and standard deviation 1, then
  // scales and shifts.
  layer_norm,
  rms_norm,  // Normalizes each row of channels to root mean square 1; then scales.
  dropout,   // Drops elements during training.
  flatten,   // Reshapes an image to a row of features; nothing is copied.
  add,       // Residual sum: adds the output of an earlier layer.
  // Maps numbers, such as those of characters in a vocabulary, to rows of a table, and adds a
  // trained row for each position in the sample. Must be the first layer.
  embedding,
  // Causal multi-head attention, without parameters. A linear layer before it computes query, key
  // and value; one after it combines the heads.
  attention,
  // Sequence of transformer blocks. Each part of a block is a segment, so a pipeline can be cut
  // inside a block (layers.h).
  transformer,
  // Sums table rows whose indices are the first columns of a sample, and passes the other columns
  // on. Must be the first layer.
  embedding_bag,
  // Linear model of the sample's indices. It adds table rows, which have one number per class, to
  // the logits. Must be the last layer.
  wide,
};

constexpr bool normalizes_rows(LayerKind kind) {
  return kind == LayerKind::layer_norm || kind == LayerKind::rms_norm;
}

// True if the layer looks up rows of a table by indices in the sample.
constexpr bool looks_up(LayerKind kind) {
  return kind == LayerKind::embedding_bag || kind == LayerKind::wide;
}

struct LayerSpec {
  LayerKind kind = LayerKind::linear;
  std::int64_t units = 0;  // linear: outputs; 0: number of classes.
  // linear as the last layer: true if its weight is the table of the embedding. The layer then has
  // no bias.
  bool tied = false;
  std::int64_t channels = 32;  // conv2d: channels of the output.
  std::int64_t kernel = 3;     // conv2d and pools: the window is kernel x kernel pixels.
  // conv2d and pools; 0: automatic, which is 1 for conv2d and the kernel size for pools
  std::int64_t stride = 0;
  std::int64_t padding = 0;   // conv2d and pools: pixels added on each side of the image.
  double momentum = 0.1;      // batch_norm
  bool synchronized = false;  // batch_norm: true if statistics are over the samples of all ranks.
  double probability = 0.5;   // dropout
  std::int64_t back = 2;      // add: number of layers back to the layer whose output is added.
  std::int64_t slot_count =
      8;  // embedding_bag and wide: number of columns of the sample that are row indices.
  // embedding, embedding_bag and wide: rows of the table. For embedding, 0 means the number of
  // classes.
  std::int64_t rows = 20'000;
  std::int64_t width = 16;  // embedding and embedding_bag: numbers per table row.
  std::int64_t heads = 4;   // attention and transformer
  std::int64_t blocks = 4;  // transformer
  // transformer: units between its last two linear layers; 0: four times the width of a row.
  std::int64_t hidden = 0;

  bool operator==(const LayerSpec&) const = default;
};

struct ModelSpec {
  std::vector<LayerSpec> layers{
      {LayerKind::linear, 128}, {LayerKind::relu, 0}, {LayerKind::linear, 0}};

  // Returns the index of the layer that computes the logits: the last one, or the one before a
  // final wide layer. The list must not be empty.
  std::size_t output_layer() const {
    std::size_t last = layers.size() - 1;
    while (last > 0 && layers[last].kind == LayerKind::wide) --last;
    return last;
  }

  bool operator==(const ModelSpec&) const = default;
};

}  // namespace trainyard::model

template <>
struct trainyard::base::Names<trainyard::model::LayerKind> {
  using K = trainyard::model::LayerKind;
  static constexpr std::pair<K, std::string_view> table[] = {{K::linear, "linear"},
                                                             {K::relu, "relu"},
                                                             {K::tanh, "tanh"},
                                                             {K::gelu, "gelu"},
                                                             {K::conv2d, "conv2d"},
                                                             {K::max_pool, "max_pool"},
                                                             {K::average_pool, "average_pool"},
                                                             {K::batch_norm, "batch_norm"},
                                                             {K::layer_norm, "layer_norm"},
                                                             {K::rms_norm, "rms_norm"},
                                                             {K::dropout, "dropout"},
                                                             {K::flatten, "flatten"},
                                                             {K::add, "add"},
                                                             {K::embedding, "embedding"},
                                                             {K::attention, "attention"},
                                                             {K::transformer, "transformer"},
                                                             {K::embedding_bag, "embedding_bag"},
                                                             {K::wide, "wide"}};
};
template <>
struct trainyard::base::Fields<trainyard::model::LayerSpec> {
  using L = trainyard::model::LayerSpec;
  using K = trainyard::model::LayerKind;
  static constexpr std::string_view title = "Layer";
  static constexpr bool has_window(const L& l) {
    return l.kind == K::conv2d || l.kind == K::max_pool || l.kind == K::average_pool;
  }
  static constexpr bool looks_up(const L& l) { return trainyard::model::looks_up(l.kind); }
  static constexpr bool has_table(const L& l) { return looks_up(l) || l.kind == K::embedding; }
  static constexpr bool normalizes(const L& l) { return l.kind == K::batch_norm; }
  static auto table() {
    return std::tuple{
        field("kind", &L::kind, "", {},
              "Layer type; linear: fully connected; relu, tanh, gelu: activation; conv2d: "
              "convolution; max_pool, average_pool: pooling; batch_norm, layer_norm, rms_norm: "
              "normalization; dropout: drops elements; flatten: image to row; add: residual sum; "
              "embedding: index to row; attention: causal multi-head attention; transformer: "
              "transformer blocks; embedding_bag: sum of table rows; wide: linear model of "
              "indices, added to the logits"),
        field("units", &L::units, "units", {0, 1 << 20},
              "Number of outputs of a linear layer; 0: the number of classes",
              [](const L& l) { return l.kind == K::linear; }),
        field("tied", &L::tied, "", {},
              "Tied weights: the last linear layer uses the table of the embedding as its weight, "
              "and has no bias",
              [](const L& l) { return l.kind == K::linear; }),
        field("channels", &L::channels, "channels", {1, 1 << 16},
              "Number of output channels of a convolution",
              [](const L& l) { return l.kind == K::conv2d; }),
        field("kernel", &L::kernel, "pixels", {1, 256},
              "Kernel size: side of the window that slides over the image", has_window),
        field(
            "stride", &L::stride, "pixels", {0, 256},
            "Step of the window; 0: automatic, 1 for a convolution and the kernel size for a pool",
            has_window),
        field("padding", &L::padding, "pixels", {0, 255},
              "Zero padding on each side of the image. A max pool ignores padded pixels",
              has_window),
        field("momentum", &L::momentum, "", {0, 1},
              "Momentum of the running statistics used in evaluation: weight of the newest batch",
              normalizes),
        field("synchronized", &L::synchronized, "", {},
              "Synchronized batch normalization: mean and variance over the samples of all ranks, "
              "at the cost of two small all-reduces per micro-step. If off, each rank normalizes "
              "its local samples, and several ranks are not equivalent to one device",
              normalizes),
        field("probability", &L::probability, "", {0, 0.999},
              "Probability of an element to be dropped during training. The mask does not depend "
              "on the number of ranks",
              [](const L& l) { return l.kind == K::dropout; }),
        field("back", &L::back, "layers", {2, 1000},
              "Number of layers back to the layer whose output is added",
              [](const L& l) { return l.kind == K::add; }),
        field("slots", &L::slot_count, "columns", {1, 1024},
              "Number of sample columns that are table indices. It must match the data", looks_up),
        field("rows", &L::rows, "rows", {0, 1 << 24},
              "Number of rows of the table, one per index of the data; 0: for an embedding the "
              "number of classes",
              has_table),
        field("width", &L::width, "numbers", {1, 1 << 16},
              "Embedding dimension: number of elements per row",
              [](const L& l) { return l.kind == K::embedding_bag || l.kind == K::embedding; }),
        field("heads", &L::heads, "heads", {1, 1024},
              "Number of attention heads. Each uses its own part of query, key and value",
              [](const L& l) { return l.kind == K::attention || l.kind == K::transformer; }),
        field("blocks", &L::blocks, "blocks", {1, 1000},
              "Number of transformer blocks, each with attention and a feed-forward part, both "
              "with a residual connection",
              [](const L& l) { return l.kind == K::transformer; }),
        field("hidden", &L::hidden, "units", {0, 1 << 20},
              "Number of units of the feed-forward part; 0: automatic, four times the embedding "
              "dimension",
              [](const L& l) { return l.kind == K::transformer; })};
  }
};
template <>
struct trainyard::base::Fields<trainyard::model::ModelSpec> {
  using M = trainyard::model::ModelSpec;
  static constexpr std::string_view title = "Model";
  static auto table() {
    return std::tuple{
        field("layers", &M::layers, "", {1, 1000},
              "Layers from input to output, followed by a softmax cross-entropy loss")};
  }
};
