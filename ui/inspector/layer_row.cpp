// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/layer_row.h"

#include <QCoreApplication>
#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>

#include "core/base/json.h"
#include "core/experiment/field_templates.h"
#include "ui/inspector/field_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/manual_topic.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using base::FieldDescription;

QString layer_text(const char* source) { return QCoreApplication::translate("layer", source); }
QString name_of(const FieldDescription& field) { return QString::fromStdString(field.name); }

// True for the fields in the first line of a layer's row, beside the layer's number. If the layer's
// kind has no units, the editor of the kind is wider, because some names of kinds are long.
bool in_first_line(const FieldDescription& field) {
  return field.name == "kind" || field.name == "units";
}

// Returns a short text that the row shows for the value 0 of a field. The text in the field's help
// would be too long.
QString zero_of(const FieldDescription& field) {
  return field.name == "units" ? layer_text("one per class") : zero_text(field);
}

}  // namespace

LayerRow::LayerRow(int layer, QWidget* parent) : whole(new QWidget(parent)) {
  auto* both = new QVBoxLayout(whole);
  both->setContentsMargins(0, 0, 0, 0);
  both->setSpacing(2);
  auto* line = new QWidget(whole);
  auto* places = new QHBoxLayout(line);
  places->setContentsMargins(0, 0, 0, 0);
  places->setSpacing(kGrid / 2);
  number = new TintedLabel(TextColor::dim, line);
  number->setText(QString::number(layer));
  places->addWidget(number);
  details_ = new QGridLayout;
  details_->setContentsMargins(3 * kGrid, 0, 0, 0);
  details_->setSpacing(kGrid / 2);
  for (const FieldDescription& field : base::describe(model::LayerSpec{}))
    add_editor(field, layer, *line);
  up = add_button(*line, "up", layer_text("Move up (Alt+Up)"));
  down = add_button(*line, "down", layer_text("Move down (Alt+Down)"));
  remove = add_button(*line, "remove", layer_text("Remove (Alt+Delete)"));
  note = paragraph(TextColor::dim, whole);
  note->hide();
  problem = paragraph(TextColor::error, whole);
  problem->hide();
  both->addWidget(line);
  both->addLayout(details_);
  both->addWidget(note);
  both->addWidget(problem);
}

void LayerRow::add_editor(const FieldDescription& field, int layer, QWidget& line) {
  const QString label = label_of(field), name = name_of(field);
  FieldEditor* editor =
      make_editor(field, {.file = false, .directory = {}, .zero_text = zero_of(field)},
                  in_first_line(field) ? &line : whole);
  editor->setToolTip(QString::fromStdString(field.help));
  editor->focusProxy()->setAccessibleName(layer_text("Layer %1: %2").arg(layer).arg(label));
  set_manual_field(editor, name);
  editors[name] = editor;
  if (in_first_line(field)) {
    static_cast<QHBoxLayout*>(line.layout())->addWidget(editor, name == "kind" ? 1 : 0);
  } else {
    auto* words = labels_[name] = new TintedLabel(TextColor::dim, whole);
    words->setText(label);
    words->setBuddy(editor);
    words->setToolTip(editor->toolTip());
  }
}

QToolButton* LayerRow::add_button(QWidget& line, const QString& icon_name, const QString& text) {
  auto* button = new QToolButton(&line);
  button->setIcon(icon(icon_name));
  button->setToolTip(text);
  button->setAccessibleName(text);
  button->setAutoRaise(true);
  line.layout()->addWidget(button);
  return button;
}

void LayerRow::show_layer(const model::LayerSpec& spec) {
  const base::Json values = base::write_document(spec);
  number->setMinimumWidth(number->fontMetrics().horizontalAdvance("00"));
  int place = 0;
  for (const FieldDescription& field : base::describe(spec)) {
    const QString name = name_of(field);
    FieldEditor* editor = editors.at(name);
    editor->set_value(values[field.name]);
    editor->setVisible(field.used);
    const auto label = labels_.find(name);
    if (label == labels_.end()) continue;
    label->second->setVisible(field.used);
    details_->removeWidget(label->second);
    details_->removeWidget(editor);
    if (!field.used) continue;
    details_->addWidget(label->second, place, 0);
    details_->addWidget(editor, place++, 1);
  }
}

void LayerRow::show_problem() {
  const QString& why = refused.isEmpty() ? found : refused;
  problem->setText(why);
  problem->setVisible(!why.isEmpty());
  for (const auto& [name, editor] : editors) editor->focusProxy()->setAccessibleDescription(why);
}

bool LayerRow::any_held() const {
  return std::ranges::any_of(editors, [](const auto& entry) { return entry.second->held(); });
}

}  // namespace trainyard::ui
