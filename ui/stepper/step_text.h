// SPDX-License-Identifier: GPL-3.0-or-later
// Text about a step of a collective, for the screen and screen readers.
#pragma once

#include <QString>

#include "ui/stepper/stepper.h"

namespace trainyard::ui {

QString collective_text(collective::Collective collective);  // "all-reduce"
// Returns the name of the algorithm as used for that collective, for example "binomial tree" for a
// broadcast.
QString algorithm_text(collective::Collective collective, collective::Algorithm algorithm);

QString value_text(double value);                      // value with up to six digits
int named_rank(const Stepper& stepper, int position);  // displayed index of the rank at a position
// Lists members by their ranks: "0+2". Many members are listed as "12 of 16 ranks".
QString members_text(const std::vector<int>& members, const collective::Exercise& exercise);
QString held_text(const collective::PartialSum& held,
                  const collective::Exercise& exercise);  // "12 (0+2)", "nothing yet"
QString chunks_text(int chunk, int chunks);               // "chunk 2", "chunks 2 to 3"
QString program_line_text(
    const QString& token);               // describes a program line: "send chunk 1 to rank 2"
QString bytes_text(std::int64_t bytes);  // exact if the number is small
QString bytes_so_far(std::int64_t bytes, std::int64_t of);  // "8 of 24 B"

QString place_text(const Stepper& stepper);    // "Round 2 of 6, step 5 of 24"
QString sentence(const Stepper& stepper);      // sentence about the last step
QString traffic_text(const Stepper& stepper);  // bytes sent by all ranks, compared to the formula

// Compares the value of one member and chunk with the value that the run recorded. Empty if the
// value is not complete, or if the run recorded none.
QString agreement_text(const Stepper& stepper, int position, int chunk);
struct Verdict {
  QString text;
  bool same = true;
};
Verdict verdict(const Stepper& stepper);

}  // namespace trainyard::ui
