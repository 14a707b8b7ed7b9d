// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers of the model view as text: for the columns of its table, and as sentences, which
// screen readers also read.
#pragma once

#include <QStringList>
#include <array>

#include "ui/modelview/model_moves.h"

namespace trainyard::ui {

// Columns of numbers beside the graph, such as the bytes and the floating-point operations of a
// node.
enum class Figure { output, parameters, bytes, activations, flops, share };
inline constexpr int kFigures = 6;
std::array<QString, kFigures> figure_headings();
std::array<QString, kFigures> figures_of(const ModelNode& node);

QString share_text(double share);  // "12.3 %"
// Returns the ranks that keep the node's parameters: "ranks 4, 5", "ranks 0, 1: 32 of 64 outputs
// each". Empty if these are exactly the ranks of the node's column.
QString kept_text(const ModelNode& node);
QString kept_heading();
QString group_text(const ModelGroup& group);     // "24.6 % of the work"
QString column_text(const ModelColumn& column);  // "25.1 %, 220 kB"
// returns a sentence with the values of `column_text` and more details
QString column_details(const ModelColumn& column);
QString totals(const ModelPicture& picture);                // totals of the full model
QString sentence(const ModelPicture& picture, int number);  // sentence with all details of a node
// returns a summary of several nodes; for a single node, the same as `sentence`
QString details(const ModelPicture& picture, const Nodes& nodes);
QString refusal_text(const base::Problem& problem);  // reason and advice: "Reason. Advice."

}  // namespace trainyard::ui
