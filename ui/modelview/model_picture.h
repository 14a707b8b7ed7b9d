// SPDX-License-Identifier: GPL-3.0-or-later
// The model of an experiment as a graph: what may stand on a device by itself, from input to loss,
// with its figures and with who has it. Values; made aside, for data files are looked into.
#pragma once

#include <QString>
#include <QStringList>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/experiment/experiment.h"
#include "ui/modelview/who_keeps.h"

namespace trainyard::ui {

// A segment of the model.
struct ModelNode {
  QString place;   // as strategy.stages.places names it: "1.4"
  QString name;    // "1.4 linear 32-128"
  QString output;  // of one sample: "64 x 128"
  std::int64_t parameters = 0, parameter_bytes = 0;
  std::int64_t activation_bytes = 0;                   // its output, of a micro-batch
  std::int64_t forward_flops = 0, backward_flops = 0;  // of one sample
  double share = 0;               // of the floating-point operations of the whole model
  int group = -1;                 // by number; -1: it stands by itself
  int tied_to = -1, addend = -1;  // nodes: whose table it uses, whose output it adds
  std::vector<int> keepers;    // ranks that keep its parameters, where its column does not say it
  LayerSplit split;            // and which of these has which part, where they share it
  bool reads_samples = false;  // besides what the one before it makes
  bool called = false;         // where trainers call layers: it is on a server
  std::optional<base::Problem> bound;  // why it is nowhere else; nothing where it may be anywhere
  std::int64_t flops() const { return forward_flops + backward_flops; }
  bool operator==(const ModelNode&) const = default;
};

// Nodes that are one layer, or one block of it.
struct ModelGroup {
  QString title;  // "1 transformer, block 0"
  int first = 0, last = 0;
  std::int64_t parameters = 0;
  double share = 0;
  bool operator==(const ModelGroup&) const = default;
};

// Who has nodes: a rank, a stage of a mesh, or all devices alike, or nobody.
struct ModelColumn {
  int rank = -1;        // -1: no one rank
  QString title;        // "cpu0", "Stage 1", "All trainers", "Every device", "No device"
  QStringList devices;  // by their names on the drawing; none where that is not said
  std::int64_t parameter_bytes = 0, activation_bytes = 0;
  double share = 0;
  int place = -1;  // by which strategy.stages.places names it; -1: layers are not placed there
  bool operator==(const ModelColumn&) const = default;
};

struct ModelPicture {
  std::optional<base::Problem> problem;    // why there is no graph, for a person
  std::optional<base::Problem> misplaced;  // what is wrong with where the layers are
  QString input, loss;                     // "28 x 28 x 1", "softmax cross-entropy over 10 classes"
  std::vector<ModelNode> nodes;
  std::vector<ModelGroup> groups;
  std::vector<ModelColumn> columns;
  std::vector<int> owners;  // by node, its column
  bool splits = false;  // columns are devices, each of which has some layers, or in a mesh stages,
                        // or in rpc all trainers
  bool may_part = false;   // a layer that is tied, and the one whose table it uses: both columns
                           // have the table then
  QString kept;            // who has what, in a sentence
  QString strategy;        // its name
  std::int64_t batch = 0;  // samples of a micro-batch
  std::int64_t parameters = 0, parameter_bytes = 0, activation_bytes = 0,
               flops = 0;  // of all nodes

  const ModelNode& node(int number) const { return nodes[static_cast<std::size_t>(number)]; }
  const ModelColumn& column_of(int node) const {
    return columns[static_cast<std::size_t>(owners[static_cast<std::size_t>(node)])];
  }
  int count() const { return static_cast<int>(nodes.size()); }
  int node_at(const QString& place) const;  // -1: there is none of that name
  bool operator==(const ModelPicture&) const = default;
};

// Of any experiment, in order or not; relative data paths start at `directory`.
ModelPicture model_picture(const experiment::Experiment& experiment,
                           const std::filesystem::path& directory);

// The same, of a model that is split, with its nodes in these columns; of what is wrong there
// nothing is said.
ModelPicture with_owners(ModelPicture picture, std::vector<int> owners);

}  // namespace trainyard::ui
