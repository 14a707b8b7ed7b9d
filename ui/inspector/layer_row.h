// SPDX-License-Identifier: GPL-3.0-or-later
// One layer in the list of layers: its number, kind and units in a line, and in lines below it what
// else its kind wants to know.
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

  // The values of the layer, and the editors that it uses.
  void show_layer(const model::LayerSpec& spec);
  void show_problem();
  bool any_held() const;

  QWidget* whole;
  TintedLabel *number, *problem;
  std::map<QString, FieldEditor*> editors;
  QToolButton *up, *down, *remove;
  QString found, refused;

 private:
  void add_editor(const base::FieldDescription& field, int layer, QWidget& line);
  static QToolButton* add_button(QWidget& line, const QString& icon_name, const QString& text);

  QGridLayout* details_;
  std::map<QString, QLabel*> labels_;  // of the editors in `details_`
};

}  // namespace trainyard::ui
