// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/layer_list.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QPushButton>
#include <QToolButton>
#include <algorithm>
#include <map>

#include "ui/inspector/field_words.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using base::Json;

constexpr std::int64_t kNewUnits = 128;

}  // namespace

struct LayerList::Row {
  QWidget* whole = nullptr;
  TintedLabel *number = nullptr, *problem = nullptr;
  std::map<QString, FieldEditor*> editors;
  QToolButton *up = nullptr, *down = nullptr, *remove = nullptr;
  QString found, refused;

  void show_problem() {
    const QString& text = refused.isEmpty() ? found : refused;
    problem->setText(text);
    problem->setVisible(!text.isEmpty());
    for (const auto& [name, editor] : editors) editor->focusProxy()->setAccessibleDescription(text);
  }
};

LayerList::LayerList(QWidget* parent) : QWidget(parent), column_(new QVBoxLayout(this)), whole_problem_(paragraph(Tint::error, this)) {
  column_->setContentsMargins(0, 0, 0, 0);
  column_->setSpacing(kGrid / 2);
  whole_problem_->hide();
  column_->addWidget(whole_problem_);
  auto* add = new QPushButton(icon("add"), tr("Add layer"), this);
  add->setObjectName("add_layer");
  add->setToolTip(tr("Adds a hidden layer before the last one: linear, then relu"));
  column_->addWidget(add, 0, Qt::AlignLeft);
  connect(add, &QPushButton::clicked, this, &LayerList::append);
  connect(&Theme::instance(), &Theme::changed, this, [this] { show_layers(Layers(layers_)); });
}

LayerList::~LayerList() = default;

QToolButton* LayerList::add_button(QWidget& line, const QString& icon_name, const QString& text) {
  auto* button = new QToolButton(&line);
  button->setIcon(icon(icon_name));
  button->setToolTip(text);
  button->setAccessibleName(text);
  button->setAutoRaise(true);
  line.layout()->addWidget(button);
  return button;
}

void LayerList::add_row() {
  Row& row = *rows_.emplace_back(std::make_unique<Row>());
  const int layer = count() - 1;
  row.whole = new QWidget(this);
  auto* both = new QVBoxLayout(row.whole);
  both->setContentsMargins(0, 0, 0, 0);
  both->setSpacing(2);
  auto* line = new QWidget(row.whole);
  auto* places = new QHBoxLayout(line);
  places->setContentsMargins(0, 0, 0, 0);
  places->setSpacing(kGrid / 2);
  row.number = new TintedLabel(Tint::dim, line);
  row.number->setText(QString::number(layer));
  places->addWidget(row.number);
  for (const base::FieldDescription& field : base::describe(model::LayerSpec{})) {
    FieldEditor* editor = make_editor(field, {.file = false, .directory = {}, .zero_text = tr("one a class")}, line);
    const QString name = QString::fromStdString(field.name);
    editor->setToolTip(QString::fromStdString(field.help));
    QSizePolicy policy = editor->sizePolicy();
    policy.setRetainSizeWhenHidden(true);  // editors of all layers stand in columns
    editor->setSizePolicy(policy);
    editor->focusProxy()->installEventFilter(this);
    editor->focusProxy()->setAccessibleName(tr("Layer %1: %2").arg(layer).arg(label_of(field)));
    places->addWidget(editor, 1);
    row.editors[name] = editor;
  }
  row.up = add_button(*line, "up", tr("Move up (Alt+Up)"));
  row.down = add_button(*line, "down", tr("Move down (Alt+Down)"));
  row.remove = add_button(*line, "remove", tr("Remove (Alt+Delete)"));
  row.problem = paragraph(Tint::error, row.whole);
  row.problem->hide();
  both->addWidget(line);
  both->addWidget(row.problem);
  column_->insertWidget(layer, row.whole);
  connect_row(row, layer);
}

void LayerList::connect_row(Row& row, int layer) {
  for (const auto& [name, editor] : row.editors) {
    connect(editor, &FieldEditor::edited, this, [this, &row, layer, field = name](const Json& value) {
      row.refused.clear();
      emit value_edited(layer, field, value);
      row.show_problem();
      emit refused_changed();
    });
    connect(editor, &FieldEditor::unreadable, this, [this, layer](const QString& why) { refuse(layer, why); });
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
  for (int layer = 0; layer < count(); ++layer) fill(*rows_[static_cast<std::size_t>(layer)], layer);
}

void LayerList::fill(Row& row, int layer) {
  const model::LayerSpec& spec = layers_[static_cast<std::size_t>(layer)];
  const Json values = base::write_document(spec);
  row.number->setMinimumWidth(row.number->fontMetrics().horizontalAdvance("00"));
  for (const base::FieldDescription& field : base::describe(spec)) {
    FieldEditor* editor = row.editors.at(QString::fromStdString(field.name));
    editor->set_value(values[field.name]);
    editor->setVisible(field.used);
  }
  if (std::ranges::none_of(row.editors, [](const auto& entry) { return entry.second->held(); })) set_refused(row, {});
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
  whole_problem_->setText(whole.join("\n"));
  whole_problem_->setVisible(!whole.isEmpty());
}

void LayerList::refuse(int layer, const QString& why) {
  Row& row = *rows_[static_cast<std::size_t>(layer)];
  for (const auto& [name, editor] : row.editors)
    if (editor->focusProxy()->hasFocus()) editor->hold(base::write_document(layers_[static_cast<std::size_t>(layer)])[name.toStdString()]);
  set_refused(row, why);
}

void LayerList::set_refused(Row& row, const QString& why) {
  if (why == row.refused) return;
  row.refused = why;
  row.show_problem();
  emit refused_changed();
}

std::optional<std::pair<int, QString>> LayerList::refused() const {
  for (int layer = 0; layer < count(); ++layer)
    if (const QString& why = rows_[static_cast<std::size_t>(layer)]->refused; !why.isEmpty()) return std::pair(layer, why);
  return {};
}

// The layer as it is, whatever was typed.
void LayerList::show_afresh(Row& row, int layer) {
  fill(row, layer);
  const Json values = base::write_document(layers_[static_cast<std::size_t>(layer)]);
  for (const auto& [name, editor] : row.editors) editor->reset_value(values[name.toStdString()]);
  set_refused(row, {});
}

void LayerList::forget_refused() {
  for (int layer = 0; layer < count(); ++layer)
    if (Row& row = *rows_[static_cast<std::size_t>(layer)]; !row.refused.isEmpty()) show_afresh(row, layer);
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
  const auto before_last = layers.empty() ? layers.end() : layers.end() - 1;
  layers.insert(before_last, {{model::LayerKind::linear, kNewUnits}, {model::LayerKind::relu, 0}});
  emit layers_edited(tr("Add layer"), layers);
  focus_layer(count() - 3);
}

void LayerList::focus_layer(int layer) {
  if (layer >= 0 && layer < count()) rows_[static_cast<std::size_t>(layer)]->editors.begin()->second->setFocus(Qt::OtherFocusReason);
}

int LayerList::focused_layer() const {
  for (int layer = 0; layer < count(); ++layer)
    if (rows_[static_cast<std::size_t>(layer)]->whole->isAncestorOf(QApplication::focusWidget())) return layer;
  return -1;
}

// Before the editor sees it: a combo box would take Alt+Up for its own.
bool LayerList::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::KeyPress) return QWidget::eventFilter(watched, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  if (!(key->modifiers() & Qt::AltModifier)) return false;
  if (key->key() == Qt::Key_Up) return move(focused_layer(), -1), true;
  if (key->key() == Qt::Key_Down) return move(focused_layer(), 1), true;
  if (key->key() == Qt::Key_Delete) return remove(focused_layer()), true;
  return false;
}

FieldEditor* LayerList::editor(int layer, const QString& field) const { return rows_.at(static_cast<std::size_t>(layer))->editors.at(field); }
QString LayerList::problem_text(int layer) const { return rows_.at(static_cast<std::size_t>(layer))->problem->text(); }

}  // namespace trainyard::ui
