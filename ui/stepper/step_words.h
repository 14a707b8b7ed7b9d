// SPDX-License-Identifier: GPL-3.0-or-later
// A step of a collective in words, for the screen and for who cannot see it.
#pragma once

#include <QString>

#include "ui/stepper/stepper.h"

namespace trainyard::ui {

QString collective_words(collective::Collective collective);  // "all-reduce"
// As the algorithm of that collective is called: "binomial tree" for a broadcast.
QString algorithm_words(collective::Collective collective, collective::Algorithm algorithm);

QString number_words(double value);                    // up to six digits
int named_rank(const Stepper& stepper, int position);  // as the exercise calls it
// Of members by position, as the exercise calls them: "0+2"; of many "12 of 16 ranks".
QString members_words(const std::vector<int>& members, const collective::Exercise& exercise);
QString held_words(const collective::Held& held,
                   const collective::Exercise& exercise);  // "12 (0+2)", "nothing yet"
QString chunks_words(int chunk, int chunks);               // "chunk 2", "chunks 2 to 3"
QString line_words(const QString& token);  // of a line of the program: "send chunk 1 to rank 2"
QString bytes_words(std::int64_t bytes);   // all digits while they are few
QString bytes_so_far(std::int64_t bytes, std::int64_t of);  // "8 of 24 B"

QString place_words(const Stepper& stepper);    // "Round 2 of 6, step 5 of 24"
QString sentence(const Stepper& stepper);       // what the last step did
QString traffic_words(const Stepper& stepper);  // what all have sent, beside the formula

// Of a true number that is complete: whether the run had the same. Of all of them, at the end.
// Empty where nothing is known.
QString agreement_words(const Stepper& stepper, int position, int chunk);
struct Verdict {
  QString text;
  bool same = true;
};
Verdict verdict(const Stepper& stepper);

}  // namespace trainyard::ui
