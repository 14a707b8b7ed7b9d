// SPDX-License-Identifier: GPL-3.0-or-later
// What to step through: a collective, its algorithm, and the ranks that carry it out - those of the
// drawing, an example's, or those of a run, with the bytes of one of its buckets and, where the run
// has put them aside, its numbers.
#pragma once

#include <QWidget>
#include <optional>

#include "ui/model/document.h"
#include "ui/stepper/reduced_run.h"
#include "ui/stepper/stepper.h"
#include "ui/stepper/values_pick.h"

class QComboBox;
class QSpinBox;

namespace trainyard::ui {

class ExerciseBar : public QWidget {
  Q_OBJECT
 public:
  enum class Ranks { drawing, example, run };

  explicit ExerciseBar(Document& document, QWidget* parent = nullptr);

  // Offers the ranks and buckets of a run; nothing: there is none, or its ranks tell each other
  // nothing. The history must outlive this or be taken away.
  void set_run(const QString& name, const std::optional<ReducedRun>& run,
               const telemetry::History* history = nullptr);
  void history_grew();
  void await_next_step();  // of training: its numbers are looked at as soon as they come

  Ranks ranks() const;
  collective::Exercise exercise() const;
  const std::optional<TrueValues>& true_values() const { return values_->values(); }
  QString truth() const;  // what the numbers and the bytes are, in a sentence

 signals:
  void changed();
  void seed_changed(int seed);

 private:
  template <class Widget>
  Widget* add(Widget* widget, const QString& text, const QString& name);
  void build();
  void ranks_chosen();
  void bucket_chosen();
  void choose_algorithm(collective::Algorithm algorithm);
  void document_changed();
  void settle();
  void refill_algorithms();
  void show_what_is_asked();
  std::vector<int> hosts() const;
  collective::Collective collective() const;
  std::optional<collective::Algorithm> algorithm() const;
  const RunBucket* bucket() const;
  bool as_run() const;            // the exercise is what the run did
  QString no_true_words() const;  // of a run
  QString drawn_engine() const;   // a sentence, where the document hands collectives to one

  Document& document_;
  QString run_name_;
  std::optional<ReducedRun> run_;
  collective::Algorithm documents_ =
      collective::Algorithm::automatic;  // the document's, when it was last looked at
  const telemetry::History* history_ = nullptr;
  std::size_t seen_values_ = 0;
  ValuesPick* values_;
  QComboBox *collective_, *algorithm_, *ranks_, *bucket_;
  QSpinBox *root_, *members_, *hosts_, *seed_;
};

}  // namespace trainyard::ui
