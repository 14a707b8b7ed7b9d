// SPDX-License-Identifier: GPL-3.0-or-later
// Controls that choose an exercise for the stepper: the collective, its algorithm, and the ranks.
// The ranks are those of the drawing, of an example, or of a run. For a run, the exercise has the
// size of one of the run's buckets, and the values that the run recorded for it, if any.
#pragma once

#include <QWidget>
#include <optional>

#include "ui/model/document/document.h"
#include "ui/stepper/run_collectives.h"
#include "ui/stepper/stepper.h"
#include "ui/stepper/values_picker.h"

class QComboBox;
class QSpinBox;

namespace trainyard::ui {

class ExerciseBar : public QWidget {
  Q_OBJECT
 public:
  enum class Ranks { drawing, example, run };

  explicit ExerciseBar(Document& document, QWidget* parent = nullptr);

  // Offers the ranks and buckets of a run. `run` is empty if there is no run, or if the ranks of
  // the run do not communicate. `history` must outlive this object, unless another run is set
  // before.
  void set_run(const QString& name, const std::optional<RunCollectives>& run,
               const telemetry::History* history = nullptr);
  void history_grew();
  void await_next_step();  // shows the values of the next training step as soon as they arrive

  Ranks ranks() const;
  collective::Exercise exercise() const;
  const std::optional<RecordedValues>& recorded_values() const { return values_->values(); }
  QString source_text() const;  // origin of the numbers and bytes, in one sentence

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
  void update_visible_fields();
  std::vector<int> hosts() const;
  collective::Collective collective() const;
  std::optional<collective::Algorithm> algorithm() const;
  const RunBucket* bucket() const;
  bool matches_run() const;  // true if the exercise equals the collective that the run executed
  QString no_values_reason() const;  // why the run has no recorded values
  // Returns a sentence about the engine that the document uses for collectives; empty if it uses
  // none.
  QString drawn_engine() const;

  Document& document_;
  QString run_name_;
  std::optional<RunCollectives> run_;
  collective::Algorithm documents_ =
      collective::Algorithm::automatic;  // the document's algorithm at the last update
  const telemetry::History* history_ = nullptr;
  std::size_t seen_values_ = 0;
  ValuesPicker* values_;
  QComboBox *collective_, *algorithm_, *ranks_, *bucket_;
  QSpinBox *root_, *members_, *hosts_, *seed_;
};

}  // namespace trainyard::ui
