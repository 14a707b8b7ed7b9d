// SPDX-License-Identifier: GPL-3.0-or-later
// The experiment that is being edited: its undo stack, file and problems. It does not depend on
// widgets or on live runs: undo never affects a run.
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>
#include <QUndoStack>
#include <functional>
#include <memory>
#include <optional>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/experiment/document.h"
#include "core/experiment/resolve.h"
#include "ui/model/document/display_problems.h"

namespace trainyard::ui {

class Document : public QObject {
  Q_OBJECT
 public:
  explicit Document(QObject* parent = nullptr);
  ~Document() override;

  const experiment::Experiment& experiment() const { return *experiment_; }
  const base::Problems& problems() const {
    return problems_;
  }  // from `experiment::validate`; updated on another thread soon after a change
  const DisplayProblems& display_problems() const {
    return display_problems_;
  }              // problems in the same order, with readable messages
  void judge();  // validates again, as data files may have changed; then emits `judged`
  // Sets the problem of an input that was refused. While it is set, the document lists it as a
  // problem, and the document cannot be saved.
  void set_refused(const std::optional<base::Problem>& typed);
  const std::optional<base::Problem>& refused() const { return refused_; }
  // Notes on data files and settings, for the fields at their paths; updated with `problems`.
  const std::vector<experiment::Note>& notes() const { return notes_; }
  bool has_devices() const;
  // Returns the problems to show. If no device is drawn, the problem that no device trains is
  // omitted.
  DisplayProblems shown_problems() const;
  QUndoStack& undo_stack() { return undo_; }
  QString file() const { return file_; }  // empty: never saved
  QString directory() const;              // base of relative data paths
  QString title() const;                  // name of the file or experiment, for the window title
  QString name() const;  // name of the experiment, else of the file; empty if there is neither
  bool dirty() const { return !undo_.isClean(); }

  // Applies an edit; all edits are made by this function. `change` modifies a copy of the
  // experiment. If the copy then differs from the experiment, a command named `text` is pushed to
  // the undo stack. Consecutive edits with the same non-empty `merge_key`, such as those of a drag,
  // become one command. If an edit chooses a kind that does not use some fields, these fields are
  // reset to their defaults. `fields_dropped` then lists those that had other values.
  void edit(const QString& text, const std::function<void(experiment::Experiment&)>& change,
            const QString& merge_key = {});
  // Sets one value by its path ("training.batch_per_rank"), as JSON. Returns the problems if the
  // value is refused; the document is then unchanged.
  base::Problems set_value(const QString& path, const base::Json& value);

  void reset(experiment::Experiment experiment,
             const QString& file = {});  // replaces the document and clears the undo stack
  void restore(
      experiment::Experiment experiment,
      const QString& file = {});  // like `reset`, but the document then has unsaved changes
  experiment::Checked<experiment::Experiment> load(
      const QString& file);  // replaces the document by the file's content, if the file can be read
  // Loads a file like `load`, but the document gets no file name, so that saving does not overwrite
  // the file. Relative data paths start from the directory of `file`.
  experiment::Checked<experiment::Experiment> load_as_new(const QString& file);
  base::Result<void> save(
      const QString& file);  // atomic; marks the undo stack clean; fails while an input is refused

 signals:
  // The experiment has changed. This signal may be emitted often, so receivers should repaint only
  // once for several signals.
  void changed();
  void about_to_be_reset();  // another document will replace this one; refused input is discarded
  void problems_changed();   // the problems or their messages changed
  // A validation is finished. `problems` is up to date, even if the problems are the same as
  // before.
  void judged();
  void file_changed();  // file, title or dirty changed
  // Emitted when an edit chose a kind that does not use these fields. Their values were reset to
  // the defaults.
  void fields_dropped(const QStringList& paths);

 private:
  friend class EditCommand;
  // An immutable copy of the experiment, shared between the undo commands and the document.
  using Snapshot = std::shared_ptr<const experiment::Experiment>;
  void apply(Snapshot experiment);
  void validate();
  void validated(const Snapshot& experiment, const DisplayProblems& problems,
                 const std::vector<experiment::Note>& notes);
  void gather_problems();

  Snapshot experiment_;
  // `validation_problems_`: problems found by validation. `display_problems_`: the problem of the
  // refused input, if there is one, followed by the problems found by validation.
  DisplayProblems validation_problems_, display_problems_;
  base::Problems problems_;  // the problems of `display_problems_` as found, with paths
  std::vector<experiment::Note> notes_;
  std::optional<base::Problem> refused_;
  QUndoStack undo_;
  QString file_;
  QTimer validation_;
  bool validating_ = false, again_ = false;  // a validation is running; another one must follow
};

}  // namespace trainyard::ui
