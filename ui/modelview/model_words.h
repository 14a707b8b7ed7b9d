// SPDX-License-Identifier: GPL-3.0-or-later
// The figures of a model picture, as columns of a table and as sentences: for the eye, and for
// screen readers.
#pragma once

#include <QStringList>
#include <array>

#include "ui/modelview/model_moves.h"

namespace trainyard::ui {

// Columns of figures beside the graph.
enum class Figure { output, parameters, bytes, activations, flops, share };
inline constexpr int kFigures = 6;
std::array<QString, kFigures> figure_headings();
std::array<QString, kFigures> figures_of(const ModelNode& node);

QString share_words(double share);          // "12.3 %"
QString kept_words(const ModelNode& node);  // "ranks 4, 5", "ranks 0, 1: 32 of 64 outputs each";
                                            // empty where its column says it
QString kept_heading();
QString group_words(const ModelGroup& group);               // "24.6 % of the work"
QString column_words(const ModelColumn& column);            // "25.1 %, 220 kB"
QString column_sentence(const ModelColumn& column);         // the same, and more, in words
QString totals(const ModelPicture& picture);                // of the whole model
QString sentence(const ModelPicture& picture, int number);  // all that is known of it
QString details(const ModelPicture& picture,
                const Nodes& nodes);                  // of several together; of one its sentence
QString refusal_words(const base::Problem& problem);  // "Why. What to do."

}  // namespace trainyard::ui
