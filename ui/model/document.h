// SPDX-License-Identifier: GPL-3.0-or-later
// The experiment that is being edited: its undo stack, its file, its problems. Knows nothing of
// widgets, and nothing of a live run: undo never touches one.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <QUndoStack>
#include <functional>
#include <memory>
#include <optional>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/experiment/document.h"
#include "ui/model/place_words.h"

namespace trainyard::ui {

class Document : public QObject {
  Q_OBJECT
 public:
  explicit Document(QObject* parent = nullptr);
  ~Document() override;

  const experiment::Experiment& experiment() const { return *experiment_; }
  const base::Problems& problems() const {
    return problems_;
  }  // of experiment::validate, refreshed shortly after a change, off this thread
  const ToldProblems& told_problems() const {
    return told_;
  }              // the same, one for one, put into words there too
  void judge();  // afresh, for data files may be others by now; then `judged`
  // What was typed somewhere and is not taken: while it stands it is a problem too, and nothing is
  // saved without it.
  void set_refused(const std::optional<base::Problem>& typed);
  const std::optional<base::Problem>& refused() const { return refused_; }
  bool has_devices() const;
  // Those worth showing: who has drawn no device yet knows that none trains.
  ToldProblems shown_problems() const;
  QUndoStack& undo_stack() { return undo_; }
  QString file() const { return file_; }  // empty: never saved
  QString directory() const;              // where relative data paths start
  QString title() const;                  // file or experiment name, for the window
  QString name() const;  // the experiment's, else its file's; empty where it has none
  bool dirty() const { return !undo_.isClean(); }

  // Every edit goes through here. `change` alters a copy; when that differs, one command named
  // `text` is pushed. Edits with the same non-empty `merge_key` in a row become one command (a
  // drag, a spin box).
  void edit(const QString& text, const std::function<void(experiment::Experiment&)>& change,
            const QString& merge_key = {});
  // One value by its path, as JSON ("training.batch_per_rank"); refused values are returned and
  // change nothing.
  base::Problems set_value(const QString& path, const base::Json& value);

  void reset(experiment::Experiment experiment,
             const QString& file = {});  // a new or another document; clears undo
  void restore(experiment::Experiment experiment,
               const QString& file = {});  // the same, with changes that no file holds yet
  experiment::Checked<experiment::Experiment> load(
      const QString& file);  // and `reset` to it, if it can be read
  experiment::Checked<experiment::Experiment> load_as_new(
      const QString& file);  // the same, of no file; data is still found where it was
  base::Result<void> save(
      const QString& file);  // atomic; marks the undo stack clean; not while text is refused

 signals:
  void changed();            // the experiment is another; coalesce before drawing
  void about_to_be_reset();  // another document takes its place: what was typed and is not taken
                             // goes with this one
  void problems_changed();   // or the words for them
  void judged();             // `problems` are of what stands now, whether they are others or not
  void file_changed();       // file, title or dirty

 private:
  friend class EditCommand;
  // Commands share their states with each other and with the document.
  using Snapshot = std::shared_ptr<const experiment::Experiment>;
  void apply(Snapshot experiment);
  void validate();
  void validated(const Snapshot& experiment, const ToldProblems& problems);
  void gather_problems();

  Snapshot experiment_;
  ToldProblems found_, told_;  // of the experiment; those that stand: what is refused is told first
  base::Problems problems_;    // the same as `told_`
  std::optional<base::Problem> refused_;
  QUndoStack undo_;
  QString file_;
  QTimer validation_;
  bool validating_ = false, again_ = false;  // on another thread; and then once more
};

}  // namespace trainyard::ui
