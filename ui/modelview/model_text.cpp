// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/modelview/model_text.h"

#include <QCoreApplication>
#include <algorithm>

#include "core/base/units.h"
#include "ui/model/document/layer_mime.h"
#include "ui/model/text/count_text.h"
#include "ui/model/topology/topology_text.h"

namespace trainyard::ui {
namespace {

QString model_text(const char* source, int n = -1) {
  return QCoreApplication::translate("model_words", source, nullptr, n);
}
QString flops(std::int64_t count) {
  return as_text(base::with_unit(static_cast<double>(count), "flop"));
}

QString parameters_text(std::int64_t count, std::int64_t size) {
  return count == 0 ? model_text("no parameters")
                    : model_text("%1 parameter(s), %2", plural(count))
                          .arg(grouped(count), size_text(size));
}

// Returns the node's connections to nodes other than the previous one, and its other properties, as
// short texts.
QStringList connections_text(const ModelPicture& picture, const ModelNode& node) {
  QStringList notes;
  if (node.tied_to >= 0)
    notes << model_text("tied to the table of layer %1").arg(picture.node(node.tied_to).place);
  if (node.reads_samples) notes << model_text("looks up table rows by sample");
  if (node.addend >= 0)
    notes << model_text("adds the output of layer %1").arg(picture.node(node.addend).place);
  return notes;
}

QString ranks_text(const std::vector<int>& list) {
  QStringList ranks;
  for (const int rank : list) ranks << QString::number(rank);
  return (ranks.size() == 1 ? model_text("rank %1") : model_text("ranks %1")).arg(ranks.join(", "));
}

// Returns the name of the dimension by which a layer is split.
QString split_noun(const LayerSplit& split) {
  switch (split.by) {
    case model::Split::outputs:
      return split.is_qkv ? model_text("outputs of query, key and value") : model_text("outputs");
    case model::Split::inputs: return model_text("inputs");
    case model::Split::rows: return model_text("rows");
    case model::Split::none: break;
  }
  return {};
}

// Returns, for example, "32 of 64 outputs each"; shards may differ in size.
QString share_of_split(const LayerSplit& split) {
  const auto [least, most] = std::ranges::minmax(split.parts, {}, &LayerShard::count);
  const QString each = least.count == most.count
                           ? grouped(most.count)
                           : model_text("%1 or %2").arg(grouped(least.count), grouped(most.count));
  return model_text("%1 of %2 %3 each").arg(each, grouped(split.of), split_noun(split));
}

// Returns, for example, "of its 64 outputs rank 0 has 0 to 31, rank 1 has 32 to 63". The numbers
// are indices of outputs.
QString parts_text(const LayerSplit& split) {
  QStringList notes;
  for (const LayerShard& part : split.parts)
    notes << (part.ranks.size() == 1 ? model_text("%1 has %2 to %3")
                                     : model_text("%1 have %2 to %3"))
                 .arg(ranks_text(part.ranks), grouped(part.first),
                      grouped(part.first + part.count - 1));
  return model_text("of its %1 %2 %3").arg(grouped(split.of), split_noun(split), notes.join(", "));
}

QString owner_text(const ModelNode& node, const ModelColumn& column) {
  if (!node.split.parts.empty()) return parts_text(node.split);
  if (!node.holders.empty())
    return (node.parameters > 0 || node.tied_to >= 0 ? model_text("parameters stored on %1")
                                                     : model_text("on %1"))
        .arg(kept_text(node));
  return column.rank < 0 ? model_text("on %1").arg(column.title.toLower())
                         : model_text("on %1, rank %2").arg(column.title).arg(column.rank);
}

}  // namespace

std::array<QString, kFigures> figure_headings() {
  return {model_text("Output"),      model_text("Parameters"), model_text("Size"),
          model_text("Activations"), model_text("Compute"),    model_text("Share")};
}

std::array<QString, kFigures> figures_of(const ModelNode& node) {
  const bool own = node.parameters > 0;
  const QString none = node.tied_to >= 0 ? model_text("tied") : QString("–");
  return {node.output,
          own ? grouped(node.parameters) : none,
          own ? size_text(node.parameter_bytes) : QString(),
          size_text(node.activation_bytes),
          flops(node.flops()),
          share_text(node.share)};
}

QString share_text(double share) { return QString::number(100 * share, 'f', 1) + " %"; }

QString kept_text(const ModelNode& node) {
  if (node.holders.empty()) return {};
  const QString ranks = ranks_text(node.holders);
  return node.split.parts.empty() ? ranks
                                  : model_text("%1: %2").arg(ranks, share_of_split(node.split));
}

QString kept_heading() { return model_text("Stored on"); }

QString group_text(const ModelGroup& group) {
  return model_text("%1 of the compute").arg(share_text(group.share));
}

QString column_text(const ModelColumn& column) {
  return model_text("%1, %2").arg(share_text(column.share), size_text(column.parameter_bytes));
}

QString column_details(const ModelColumn& column) {
  const QString all = column.devices.isEmpty()
                          ? column.title
                          : model_text("%1 (%2)").arg(column.title, column.devices.join(", "));
  const QString who =
      column.rank < 0 ? all : model_text("%1, rank %2").arg(column.title).arg(column.rank);
  return model_text("%1: %2 of the compute; %3 of parameters; activations per micro-batch %4.")
      .arg(who, share_text(column.share), size_text(column.parameter_bytes),
           size_text(column.activation_bytes));
}

QString totals(const ModelPicture& picture) {
  return model_text(
             "%1 in %2, %3. Activations per micro-batch of %4: %5. Compute: %6 per sample, forward "
             "and backward.")
      .arg(model_text("%n layer(s)", picture.layers),
           model_text("%n segment(s)", plural(picture.count())),
           parameters_text(picture.parameters, picture.parameter_bytes),
           model_text("%n sample(s)", plural(picture.batch)), size_text(picture.activation_bytes),
           flops(picture.flops));
}

QString sentence(const ModelPicture& picture, int number) {
  const ModelNode& node = picture.node(number);
  QStringList notes{
      model_text("output %1").arg(node.output),
      parameters_text(node.parameters, node.parameter_bytes),
      model_text("activations per micro-batch %1").arg(size_text(node.activation_bytes)),
      model_text("%1 forward and %2 backward per sample, %3 of the total")
          .arg(flops(node.forward_flops), flops(node.backward_flops), share_text(node.share))};
  notes << connections_text(picture, node) << owner_text(node, picture.column_of(number));
  const QString group =
      node.group < 0
          ? QString()
          : model_text(" (%1)").arg(picture.groups[static_cast<std::size_t>(node.group)].title);
  return node.name + group + ": " + notes.join("; ") + ".";
}

QString details(const ModelPicture& picture, const Nodes& nodes) {
  if (nodes.empty()) return {};
  if (nodes.size() == 1) return sentence(picture, *nodes.begin());
  std::int64_t parameters = 0, size = 0, activations = 0, work = 0;
  double share = 0;
  for (const int number : nodes) {
    const ModelNode& node = picture.node(number);
    parameters += node.parameters, size += node.parameter_bytes,
        activations += node.activation_bytes, work += node.flops(), share += node.share;
  }
  return model_text(
             "%1 selected: %2; activations per micro-batch %3; %4 per sample, %5 of the total.")
      .arg(layer_list_text(places_of(picture, nodes)), parameters_text(parameters, size),
           size_text(activations), flops(work), share_text(share));
}

QString refusal_text(const base::Problem& problem) {
  const QString what = as_text(problem.what), advice = as_text(problem.advice);
  const QString accepted = problem.accepted.empty()
                               ? QString()
                               : model_text(" (accepted: %1)").arg(as_text(problem.accepted));
  return what + accepted + "." + (advice.isEmpty() ? QString() : " " + advice);
}

}  // namespace trainyard::ui
