// SPDX-License-Identifier: GPL-3.0-or-later
// What is selected on the canvas, else the experiment: every field, with what is wrong at it, and above it all what the plan
// costs. Every edit goes through the document.
#pragma once

#include <QWidget>

#include "ui/inspector/cost_line.h"
#include "ui/inspector/field_form.h"
#include "ui/inspector/layer_list.h"
#include "ui/inspector/target.h"

class QScrollArea;
class QStackedWidget;

namespace trainyard::ui {

class Inspector : public QWidget {
  Q_OBJECT
 public:
  Inspector(Document& document, Selection& selection, QWidget* parent = nullptr);

  // Shows the field of a problem's path ("training.batch_per_rank") and gives it the focus.
  void go_to(const QString& path);

  FieldForm& form(const QString& section) { return *forms_.at(section); }  // "training"
  FieldForm& item_form() { return *item_form_; }
  LayerList& layers() { return *layers_; }
  CostLine& cost() { return *cost_; }
  bool shows_experiment() const;
  // The text that was typed and not taken, while it stands: a problem of the document too.
  std::optional<base::Problem> refused() const;

 private:
  QWidget* build_experiment();
  QWidget* build_item();
  FieldForm* add_form(const QString& section, const FormHints& hints);
  void connect_layers();
  QWidget* build_model();
  void refresh();
  void refresh_experiment();
  void refresh_item();
  void show_problems();
  void tell_refused();
  void note_batch();
  void forget_refused();
  void edit(const QString& section, const QString& path, const base::Json& value);
  void edit_item(const QString& field, const base::Json& value);

  Document& document_;
  Selection& selection_;
  bool editing_ = false;  // an edit of ours is on its way: names may have changed
  Target target_;
  CostLine* cost_;
  QStackedWidget* pages_;
  std::map<QString, FieldForm*> forms_;
  FieldForm* item_form_;
  LayerList* layers_;
  TintedLabel *item_title_, *item_kind_, *item_hint_;
};

}  // namespace trainyard::ui
