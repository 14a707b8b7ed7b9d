// SPDX-License-Identifier: GPL-3.0-or-later
// Inspector of the objects that are selected on the canvas, or of the experiment if no object is
// selected. It shows every field with its problems. The plan's cost is above the fields. Every edit
// goes through the document.
#pragma once

#include <QWidget>
#include <functional>

#include "ui/inspector/algorithm_picker.h"
#include "ui/inspector/cost_line.h"
#include "ui/inspector/failure_view.h"
#include "ui/inspector/field_form.h"
#include "ui/inspector/layer_list.h"
#include "ui/inspector/shard_view.h"
#include "ui/inspector/target.h"

class QScrollArea;
class QStackedWidget;

namespace trainyard::ui {

class Inspector : public QWidget {
  Q_OBJECT
 public:
  Inspector(Document& document, Selection& selection, QWidget* parent = nullptr);

  // Shows and focuses the field at a path, such as the path of a problem:
  // "training.batch_per_rank".
  void go_to(const QString& path);

  FieldForm& form(const QString& section) { return *forms_.at(section); }  // section: "training"
  FieldForm& item_form() { return *item_form_; }
  LayerList& layers() { return *layers_; }
  CostLine& cost() { return *cost_; }
  AlgorithmPicker& algorithms() { return *algorithms_; }
  const FailureView& failures() const { return *failures_; }
  const ShardView& shards() const { return *shards_; }
  // Sets a callback that returns the data assignment recorded by a run. The inspector shows this
  // assignment if it cannot compute one, because the data is not available.
  void set_recorded_assignment(std::function<DataAssignment()> recorded) {
    recorded_assignment_ = std::move(recorded);
  }
  // Sets a callback that returns the current measurements of the selected objects, as lines to show
  // above the fields. If it returns an empty list, no measurements are shown.
  void set_measured(std::function<QStringList(const SelectedObjects&)> measured) {
    measured_ = std::move(measured);
  }
  // Sets a callback that returns addresses of machines, which the field of a host suggests.
  void set_machines(std::function<QStringList()> machines) { machines_ = std::move(machines); }
  void show_measured();  // updates the measurements
  QString measured() const;
  bool shows_experiment() const;
  // Returns the problem of a rejected input that a field still shows. The document's list of
  // problems contains it too.
  std::optional<base::Problem> refused() const;

 signals:
  // Requests that the canvas draws this logical topology. If it has no flows, the canvas removes
  // the one that it has drawn.
  void picture_requested(const LogicalTopology& picture);

 private:
  QWidget* build_experiment();
  QWidget* build_content(const QString& section);
  QWidget* build_strategy();
  QWidget* build_item();
  FieldForm* add_form(const QString& section, const FormHints& hints);
  void connect_layers();
  QWidget* build_model();
  QWidget* build_data();
  void show_assignment(const DataAssignment& computed);
  void refresh();
  void refresh_experiment();
  void refresh_item();
  void show_problems();
  void emit_refused();
  void note_batch();
  void show_notes();
  void show_item_hint();
  void show_stages(const StageAssignment& stages);
  void note_algorithm();
  void note_devices();
  void forget_refused();
  void edit(const QString& section, const QString& path, const base::Json& value);
  void edit_item(const QString& field, const base::Json& value);

  Document& document_;
  Selection& selection_;
  QStringList noted_;     // fields that show notes of the document
  bool editing_ = false;  // true while the inspector edits the document; names may change
  Target target_;
  CostLine* cost_;
  QStackedWidget* pages_;
  std::map<QString, FieldForm*> forms_;
  FieldForm* item_form_;
  LayerList* layers_;
  ShardView* shards_;
  AlgorithmPicker* algorithms_;
  bool splits_ = false;  // true while the drawing shows the layers of each rank of a split model
  QString split_text_;   // describes how single layers are split; empty if they are not
  FailureView* failures_;
  std::function<DataAssignment()> recorded_assignment_;
  std::function<QStringList(const SelectedObjects&)> measured_;
  std::function<QStringList()> machines_;
  TintedLabel *item_title_, *item_kind_, *item_hint_, *item_measured_;
};

}  // namespace trainyard::ui
