// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/layer_list.h"

#include <QApplication>
#include <QKeyEvent>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "core/base/json.h"
#include "core/experiment/field_templates.h"
#include "ui/inspector/field_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using base::Json;

constexpr std::int64_t kNewUnits = 128;

}  // namespace

LayerList::LayerList(QWidget* parent)
    : QWidget(parent),
      column_(new QVBoxLayout(this)),
      list_problem_(paragraph(TextColor::error, this)) {
  column_->setContentsMargins(0, 0, 0, 0);
  column_->setSpacing(kGrid / 2);
  list_problem_->hide();
  column_->addWidget(list_problem_);
  auto* add = new QPushButton(icon("add"), tr("Add layer"), this);
  add->setObjectName("add_layer");
  add->setToolTip(tr("Add a hidden layer before the last one: linear, then relu"));
  column_->addWidget(add, 0, Qt::AlignLeft);
  connect(add, &QPushButton::clicked, this, &LayerList::append);
  connect(&Theme::instance(), &Theme::changed, this, [this] { show_layers(Layers(layers_)); });
}

LayerList::~LayerList() = default;

void LayerList::add_row() {
  const int layer = count();
  LayerRow& row = *rows_.emplace_back(std::make_unique<LayerRow>(layer, this));
  for (const auto& [name, editor] : row.editors) editor->focusProxy()->installEventFilter(this);
  column_->insertWidget(layer, row.whole);
  connect_row(row, layer);
}

void LayerList::connect_row(LayerRow& row, int layer) {
  for (const auto& [name, editor] : row.editors) {
    connect(editor, &FieldEditor::edited, this,
            [this, &row, layer, field = name](const Json& value) {
              row.refused.clear();
              emit value_edited(layer, field, value);
              row.show_problem();
              emit refused_changed();
            });
    connect(editor, &FieldEditor::unreadable, this,
            [this, layer](const QString& why) { refuse(layer, why); });
    connect(editor, &FieldEditor::left, this, [this, &row, layer] { show_afresh(row, layer); });
  }
  connect(row.up, &QToolButton::clicked, this, [this, layer] { move(layer, -1); });
  connect(row.down, &QToolButton::clicked, this, [this, layer] { move(layer, 1); });
  connect(row.remove, &QToolButton::clicked, this, [this, layer] { remove(layer); });
}

void LayerList::show_layers(const Layers& layers) {
  layers_ = layers;
  while (rows_.size() < layers_.size()) add_row();
  while (rows_.size() > layers_.size()) {
    rows_.back()->whole->hide();
    for (const auto& [name, editor] : rows_.back()->editors) editor->disconnect(this);
    rows_.back()->whole->deleteLater();
    rows_.pop_back();
  }
  for (int layer = 0; layer < count(); ++layer)
    fill(*rows_[static_cast<std::size_t>(layer)], layer);
}

void LayerList::fill(LayerRow& row, int layer) {
  row.show_layer(layers_[static_cast<std::size_t>(layer)]);
  if (!row.any_held()) set_refused(row, {});
  row.show_problem();
  row.up->setEnabled(layer > 0);
  row.down->setEnabled(layer + 1 < count());
  row.remove->setEnabled(count() > 1);
}

void LayerList::show_problems(const base::Problems& problems, const QString& path) {
  QStringList whole;
  std::vector<QStringList> of_layer(rows_.size());
  for (const base::Problem& problem : problems) {
    const QString where = QString::fromStdString(problem.where);
    if (where == path || where == path.section('.', 0, 0)) whole << problem_line(problem);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const QString place = QString("%1[%2]").arg(path).arg(i);
      if (where == place || where.startsWith(place + ".")) of_layer[i] << problem_line(problem);
    }
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    rows_[i]->found = of_layer[i].join("\n");
    rows_[i]->show_problem();
  }
  list_problem_->setText(whole.join("\n"));
  list_problem_->setVisible(!whole.isEmpty());
}

void LayerList::show_notes(const std::vector<experiment::Note>& notes, const QString& path) {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    QStringList lines;
    for (const experiment::Note& note : notes)
      if (QString::fromStdString(note.field) == QString("%1[%2]").arg(path).arg(i))
        lines << QString::fromStdString(note.text);
    rows_[i]->note->setText(lines.join('\n'));
    rows_[i]->note->setVisible(!lines.isEmpty());
  }
}

void LayerList::refuse(int layer, const QString& why) {
  LayerRow& row = *rows_[static_cast<std::size_t>(layer)];
  for (const auto& [name, editor] : row.editors)
    if (editor->focusProxy()->hasFocus())
      editor->hold(
          base::write_document(layers_[static_cast<std::size_t>(layer)])[name.toStdString()]);
  set_refused(row, why);
}

void LayerList::set_refused(LayerRow& row, const QString& why) {
  if (why == row.refused) return;
  row.refused = why;
  row.show_problem();
  emit refused_changed();
}

std::optional<std::pair<int, QString>> LayerList::refused() const {
  for (int layer = 0; layer < count(); ++layer)
    if (const QString& why = rows_[static_cast<std::size_t>(layer)]->refused; !why.isEmpty())
      return std::pair(layer, why);
  return {};
}

// Shows the values of a layer again and discards the input of its row.
void LayerList::show_afresh(LayerRow& row, int layer) {
  fill(row, layer);
  const Json values = base::write_document(layers_[static_cast<std::size_t>(layer)]);
  for (const auto& [name, editor] : row.editors) editor->reset_value(values[name.toStdString()]);
  set_refused(row, {});
}

void LayerList::forget_refused() {
  for (int layer = 0; layer < count(); ++layer)
    if (LayerRow& row = *rows_[static_cast<std::size_t>(layer)]; !row.refused.isEmpty())
      show_afresh(row, layer);
}

void LayerList::move(int layer, int by) {
  const int to = layer + by;
  if (layer < 0 || to < 0 || to >= count()) return;
  Layers layers = layers_;
  std::swap(layers[static_cast<std::size_t>(layer)], layers[static_cast<std::size_t>(to)]);
  emit layers_edited(tr("Move layer"), layers);
  focus_layer(to);
}

void LayerList::remove(int layer) {
  if (layer < 0 || count() < 2) return;
  Layers layers = layers_;
  layers.erase(layers.begin() + layer);
  focus_layer(std::min(layer, count() - 2));
  emit layers_edited(tr("Remove layer"), layers);
}

void LayerList::append() {
  Layers layers = layers_;
  const std::size_t output = layers.empty() ? 0 : model::ModelSpec{layers}.output_layer();
  layers.insert(layers.begin() + static_cast<std::ptrdiff_t>(output),
                {{model::LayerKind::linear, kNewUnits}, {model::LayerKind::relu, 0}});
  emit layers_edited(tr("Add layer"), layers);
  focus_layer(static_cast<int>(output));
}

void LayerList::focus_layer(int layer, const QString& field) {
  if (layer < 0 || layer >= count()) return;
  const auto& editors = rows_[static_cast<std::size_t>(layer)]->editors;
  const auto named = editors.find(field);
  const bool there = named != editors.end() && named->second->isVisibleTo(this);
  (there ? named->second : editors.at("kind"))->setFocus(Qt::OtherFocusReason);
}

int LayerList::focused_layer() const {
  for (int layer = 0; layer < count(); ++layer)
    if (rows_[static_cast<std::size_t>(layer)]->whole->isAncestorOf(QApplication::focusWidget()))
      return layer;
  return -1;
}

// Handles keys before the focused editor does, because a combo box would consume Alt+Up.
bool LayerList::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::KeyPress) return QWidget::eventFilter(watched, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  if (!(key->modifiers() & Qt::AltModifier)) return false;
  if (key->key() == Qt::Key_Up) return move(focused_layer(), -1), true;
  if (key->key() == Qt::Key_Down) return move(focused_layer(), 1), true;
  if (key->key() == Qt::Key_Delete) return remove(focused_layer()), true;
  return false;
}

FieldEditor* LayerList::editor(int layer, const QString& field) const {
  return rows_.at(static_cast<std::size_t>(layer))->editors.at(field);
}
QString LayerList::problem_text(int layer) const {
  return rows_.at(static_cast<std::size_t>(layer))->problem->text();
}

}  // namespace trainyard::ui
