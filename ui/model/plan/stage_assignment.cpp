// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/plan/stage_assignment.h"

#include <QCoreApplication>
#include <map>

#include "core/experiment/mesh.h"
#include "core/experiment/stages.h"
#include "core/experiment/tensor.h"
#include "core/topology/network.h"

namespace trainyard::ui {
namespace {

QString stages_text(const char* source) { return QCoreApplication::translate("stages", source); }

QString in_a_sentence(const std::string& text) {
  QString sentence = QString::fromStdString(text) + '.';
  sentence[0] = sentence[0].toUpper();
  return sentence;
}

// Returns the bytes that ranks send each other in one step: activations, gradients and norms.
std::vector<collective::Flow> flows_of(const plan::Plan& plan) {
  std::vector<collective::Flow> flows;
  for (std::int32_t rank = 0; rank < plan.ranks; ++rank) {
    const plan::RankPlan own = plan.rank_plan(rank);
    std::map<int, std::int64_t> bytes;  // bytes sent in a step, by receiver
    for (const plan::Op& op : own.programs.front().ops)
      if (op.kind == plan::OpKind::send)
        bytes[op.peer] += op.reads.front().count *
                          base::size_of(own.buffers[op.reads.front().buffer.index()].dtype);
    for (const auto& [to, sent] : bytes) flows.push_back({rank, to, sent});
  }
  return flows;
}

std::vector<std::string> layers_of(const experiment::Resolved& experiment) {
  std::vector<std::string> layers(experiment.ranks.size());
  const experiment::Mesh mesh = experiment::mesh_of(experiment);
  const auto name = [&](int s) {
    return experiment::place_name(experiment.model.segments[static_cast<std::size_t>(s)]);
  };
  for (const model::Stage& stage : model::stages_of(experiment::owners_of(experiment))) {
    for (const int rank : mesh.stage(stage.rank)) {
      std::string& own = layers[static_cast<std::size_t>(rank)];
      own += (own.empty() ? "" : ", ") + name(stage.first) +
             (stage.last > stage.first ? "\u2013" + name(stage.last) : "");
    }
  }
  for (const int rank : mesh.calls ? mesh.stage(0) : std::vector<int>())
    if (layers[static_cast<std::size_t>(rank)].empty())
      layers[static_cast<std::size_t>(rank)] = "loss";
  for (int rank = 0; rank < mesh.ranks() && mesh.tensor > 1; ++rank)
    layers[static_cast<std::size_t>(rank)] += " (" + std::to_string(mesh.place_of(rank).part + 1) +
                                              "/" + std::to_string(mesh.tensor) + ")";
  return layers;
}

}  // namespace

QString held_text(const std::string& layers) {
  const QString names = QString::fromStdString(layers);
  if (names.isEmpty() || names == "loss") return names.isEmpty() ? names : stages_text("the loss");
  const bool several = names.contains(u'\u2013') || names.contains(',');
  return (several ? stages_text("layers %1") : stages_text("layer %1")).arg(names);
}

StageAssignment stage_assignment(const experiment::Resolved& experiment,
                                 const plan::Plan& expanded) {
  const auto stages = experiment::stages_line(experiment),
             split = experiment::tensor_split_text(experiment),
             mesh = experiment::mesh_line(experiment);
  if (!stages)
    return split ? StageAssignment{in_a_sentence(*split), layers_of(experiment), {}}
                 : StageAssignment();
  StageAssignment known{(mesh ? in_a_sentence(*mesh) + ' ' : QString()) + in_a_sentence(*stages),
                        layers_of(experiment),
                        {}};
  if (split) known.text += ' ' + in_a_sentence(*split);
  if (const auto ideal = experiment::ideal_bubble_fraction(experiment))
    known.text +=
        ' ' + stages_text("With equal stages and links without cost, ranks idle %1 % of the time.")
                  .arg(100 * *ideal, 0, 'f', 1);
  const topology::Network network(experiment.document.topology);
  for (const topology::DeviceId device : experiment.ranks)
    known.picture.devices.push_back(network.device(device).name);
  known.picture.flows = flows_of(expanded);
  return known;
}

}  // namespace trainyard::ui
