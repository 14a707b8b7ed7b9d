// SPDX-License-Identifier: GPL-3.0-or-later
// Row of one layer: its number, kind and units in one line, and the other fields of its kind below.
#pragma once

#include <QGridLayout>
#include <QLabel>
#include <QToolButton>
#include <map>

#include "core/model/model_spec.h"
#include "ui/inspector/field_editor.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {

struct LayerRow {
  LayerRow(int layer, QWidget* parent);

  // Shows the values of the layer and the editors that its kind uses.
  void show_layer(const model::LayerSpec& spec);
  void show_problem();
  bool any_held() const;

  QWidget* whole;
  TintedLabel *number, *note, *problem;
  std::map<QString, FieldEditor*> editors;
  QToolButton *up, *down, *remove;
  QString found, refused;

 private:
  void add_editor(const base::FieldDescription& field, int layer, QWidget& line);
  static QToolButton* add_button(QWidget& line, const QString& icon_name, const QString& text);

  QGridLayout* details_;
  std::map<QString, QLabel*> labels_;  // labels of the editors in `details_`
};

}  // namespace trainyard::ui
