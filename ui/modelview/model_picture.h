// SPDX-License-Identifier: GPL-3.0-or-later
// Graph of the model of an experiment, as data for the model view. It contains the nodes from the
// input to the loss, their sizes and cost, and the devices on which they are. It is built in the
// background, because that may read data files. Plain values.
#pragma once

#include <QString>
#include <QStringList>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/experiment/experiment.h"
#include "ui/modelview/layer_assignment.h"

namespace trainyard::ui {

// A segment of the model.
struct ModelNode {
  QString place;   // name in strategy.stages.places: "1.4"
  QString name;    // "1.4 linear 32-128"
  QString output;  // shape of the node's output for one sample: "64 x 128"
  std::int64_t parameters = 0, parameter_bytes = 0;
  // Size in bytes of the node's output for a micro-batch.
  std::int64_t activation_bytes = 0;
  std::int64_t forward_flops = 0, backward_flops = 0;  // floating-point operations for one sample
  double share = 0;  // fraction of the model's floating-point operations
  int group = -1;    // index of the node's group; -1: none
  // Index of the node whose embedding table this node shares, and of the node whose output it adds;
  // -1 if there is none.
  int tied_to = -1, addend = -1;
  // ranks that keep the node's parameters; empty if these are exactly the ranks of its column
  std::vector<int> holders;
  LayerSplit split;  // shards of the node, if several ranks share it
  // True if the node reads samples in addition to the output of the previous node.
  bool reads_samples = false;
  // true if the strategy is rpc and the node is on a server, which trainers call
  bool called = false;
  // reason why the node cannot be moved to some of the columns; nothing if it can be in any column
  std::optional<base::Problem> bound;
  std::int64_t flops() const { return forward_flops + backward_flops; }
  bool operator==(const ModelNode&) const = default;
};

// Group of consecutive nodes that belong to one layer, or to one block of a transformer layer.
struct ModelGroup {
  QString title;  // "1 transformer, block 0"
  int first = 0, last = 0;
  std::int64_t parameters = 0;
  double share = 0;
  bool operator==(const ModelGroup&) const = default;
};

// Column of the model view. Its nodes are on one rank, on a stage of a mesh, on all devices
// together, or on no device.
struct ModelColumn {
  int rank = -1;        // rank of the column; -1: not a single rank
  QString title;        // "cpu0", "Stage 1", "All trainers", "Every device", "No device"
  QStringList devices;  // names of its devices on the drawing; empty if not known
  std::int64_t parameter_bytes = 0, activation_bytes = 0;
  double share = 0;
  // Number by which strategy.stages.places names this column; -1 if layers cannot be placed on it.
  int place = -1;
  bool operator==(const ModelColumn&) const = default;
};

struct ModelPicture {
  std::optional<base::Problem> problem;    // readable reason why there is no graph
  std::optional<base::Problem> misplaced;  // problem of the assignment of layers
  QString input, loss;                     // "28 x 28 x 1", "softmax cross-entropy over 10 classes"
  std::vector<ModelNode> nodes;
  std::vector<ModelGroup> groups;
  std::vector<ModelColumn> columns;
  std::vector<int> owners;  // column of each node
  // True if each column has only some of the layers. Columns are then devices, stages of a mesh or,
  // with rpc, servers and all trainers together.
  bool splits = false;
  // True if layers that share an embedding table may be in different columns. Both columns then
  // hold the table.
  bool ties_may_split = false;
  QString kept;            // sentence about the assignment of layers
  QString strategy;        // displayed name of the strategy
  std::int64_t batch = 0;  // number of samples in a micro-batch
  std::int64_t parameters = 0, parameter_bytes = 0, activation_bytes = 0,
               flops = 0;  // floating-point operations of all nodes

  const ModelNode& node(int number) const { return nodes[static_cast<std::size_t>(number)]; }
  const ModelColumn& column_of(int node) const {
    return columns[static_cast<std::size_t>(owners[static_cast<std::size_t>(node)])];
  }
  int layers = 0;  // number of layers of the document; a node is a segment of one or more layers

  int count() const { return static_cast<int>(nodes.size()); }
  int node_at(const QString& place) const;  // index of the node; -1: no such node
  bool operator==(const ModelPicture&) const = default;
};

// Returns the picture of any experiment, even one with problems. Relative data paths are relative
// to `directory`.
ModelPicture model_picture(const experiment::Experiment& experiment,
                           const std::filesystem::path& directory);

// Returns `picture` with its nodes in the columns `owners`. `picture` must have one column per
// device or stage. Problems are not computed again.
ModelPicture with_owners(ModelPicture picture, std::vector<int> owners);

}  // namespace trainyard::ui
