// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/modelview/model_panel.h"

#include <QApplication>
#include <QPointer>
#include <QScopedValueRollback>
#include <QThreadPool>
#include <QToolButton>
#include <QVBoxLayout>
#include <utility>

#include "ui/model/document/layer_mime.h"
#include "ui/model/topology/topology_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {
namespace {

constexpr int kLookAfterMilliseconds = 150;

}  // namespace

ModelPanel::ModelPanel(Document& document, QWidget* parent) : QWidget(parent), document_(document) {
  setObjectName("model_panel");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  view_ = new ModelView(this);
  build_bar();
  column->addWidget(view_, 1);
  build_foot();
  setFocusProxy(view_);
  delay_timer_.setSingleShot(true);
  delay_timer_.setInterval(kLookAfterMilliseconds);
  connect(&delay_timer_, &QTimer::timeout, this, &ModelPanel::look);
  for (const auto signal : {&Document::changed, &Document::file_changed})
    connect(&document, signal, this, &ModelPanel::document_changed);
  connect(view_, &ModelView::selection_changed, this, [this] {
    refused_.clear();  // removes the message, which refers to the previous selection
    show_note();
    show_selection();
  });
  connect(view_, &ModelView::refused, this, &ModelPanel::refuse);
  connect(view_, &ModelView::move_requested, this, [this](const Nodes& nodes, int to) {
    if (to >= static_cast<int>(picture().columns.size()))
      return;  // the column was removed after the menu was opened
    const ModelColumn& target = picture().columns[static_cast<std::size_t>(to)];
    const QString layers = layer_list_text(places_of(picture(), nodes));
    const QString where = target.rank < 0 ? target.title.toLower() : tr("rank %1").arg(target.rank);
    move(tr("Move %1 to %2").arg(layers, where),
         [nodes, to](const ModelPicture& picture) { return moved(picture, nodes, to); });
  });
  update_texts();
}

void ModelPanel::build_bar() {
  auto* bar = new QWidget(this);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(kGrid, kGrid / 2, kGrid, kGrid / 2);
  auto* words = new QVBoxLayout;
  words->setSpacing(kGrid / 4);
  words->addWidget(totals_ = paragraph(TextColor::text, bar));
  words->addWidget(note_ = paragraph(TextColor::warning, bar));
  totals_->setAccessibleName(tr("Model totals"));
  note_->setAccessibleName(tr("Problem of the layer placement"));
  row->addLayout(words, 1);
  overview_ = new QToolButton(bar);
  overview_->setIcon(icon("zoom-fit"));
  overview_->setText(tr("Whole model"));
  overview_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  overview_->setCheckable(true);
  overview_->setToolTip(tr("Show all layers at once, without text (0, Ctrl+wheel)"));
  row->addWidget(overview_, 0, Qt::AlignTop);
  connect(overview_, &QToolButton::toggled, view_, &ModelView::set_overview);
  connect(view_, &ModelView::overview_changed, overview_, &QToolButton::setChecked);
  layout()->addWidget(bar);
}

void ModelPanel::build_foot() {
  details_ = paragraph(TextColor::dim, this);
  details_->setContentsMargins(kGrid, kGrid / 2, kGrid, kGrid / 2);
  details_->setAccessibleName(tr("Selected layers"));
  layout()->addWidget(details_);
}

QString ModelPanel::totals_text() const { return totals_->text(); }
QString ModelPanel::note_text() const { return note_->text(); }
QString ModelPanel::details_text() const { return details_->text(); }

void ModelPanel::document_changed() {
  refused_.clear();
  if (moving_) return;
  current_ = false;
  delay_timer_.start();
}

void ModelPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (!current_) look();
  show_selection();
}

void ModelPanel::set_seen(bool seen) {
  seen_ = seen;
  show_selection();
}

void ModelPanel::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  emit pointed({});
}

// Updates the picture in the background, because that takes long for a large model. If the panel is
// hidden, updates it only to move layers to another device, because a move needs the picture.
void ModelPanel::look() {
  if (!isVisible() && !wanted_) return;
  QThreadPool::globalInstance()->start([panel = QPointer<ModelPanel>(this), version = ++version_,
                                        experiment = document_.experiment(),
                                        directory = document_.directory().toStdString()] {
    const ModelPicture picture = model_picture(experiment, directory);
    QMetaObject::invokeMethod(qApp, [panel, version, picture] {
      if (panel) panel->show_picture(version, picture);
    });
  });
}

void ModelPanel::show_picture(int version, const ModelPicture& picture) {
  if (version != version_ || delay_timer_.isActive()) return;
  current_ = true;
  if (picture != view_->picture()) view_->set_picture(picture);
  update_texts();
  show_selection();
  if (wanted_) do_move(*std::exchange(wanted_, std::nullopt));
  emit settled();
}

void ModelPanel::update_texts() {
  const ModelPicture& now = picture();
  if (now.problem)
    view_->set_empty_text(tr("No model yet"),
                          as_text(now.problem->where) + ": " + refusal_text(*now.problem));
  else view_->set_empty_text(tr("Reading the model ..."), {});
  const QString hint =
      now.splits ? " " + tr("Drag layers to another column, or press Alt+Left and Alt+Right.")
                 : QString();
  totals_->setText(now.nodes.empty() ? QString() : totals(now) + " " + now.kept + hint);
  totals_->setVisible(!now.nodes.empty());
  overview_->setVisible(!now.nodes.empty());
  show_note();
}

void ModelPanel::show_note() {
  const QString wrong = picture().misplaced ? refusal_text(*picture().misplaced) : QString();
  note_->setText(refused_.isEmpty() ? wrong : refused_);
  note_->setVisible(!note_->text().isEmpty());
}

void ModelPanel::show_selection() {
  const Nodes& nodes = view_->selected();
  details_->setText(nodes.empty() ? tr("Select a layer to see its details here.")
                                  : details(picture(), nodes));
  details_->setVisible(!picture().nodes.empty());
  std::set<std::string> devices;
  for (const int node : nodes)
    for (const QString& device : picture().column_of(node).devices)
      devices.insert(device.toStdString());
  emit pointed(isVisible() && seen_ ? devices : std::set<std::string>());
}

void ModelPanel::refuse(const QString& why) {
  refused_ = why;
  show_note();
  emit message(why);
}

void ModelPanel::move_to_device(const QStringList& layers, const std::string& device) {
  move(tr("Move %1 to %2").arg(layer_list_text(layers), as_text(device)),
       [layers, name = as_text(device)](const ModelPicture& picture) {
         return moved_to_device(picture, nodes_at(picture, layers), name);
       });
}

// Moves layers. This needs a picture of the current document. If there is none yet, stores the move
// and executes it when the picture exists.
void ModelPanel::move(const QString& what, const Move& move) {
  if (current_) return do_move({what, move});
  wanted_ = Wanted{what, move};
  look();
}

// Moves the layers and shows the result immediately, so that a further move starts from it. The
// problems of the new assignment are computed later.
void ModelPanel::do_move(const Wanted& wanted) {
  if (picture().problem) return refuse(refusal_text(*picture().problem));
  const auto owners = wanted.move(picture());
  if (!owners) return refuse(refusal_text(owners.error()));
  refused_.clear();
  if (*owners == picture().owners) return show_note();
  const ModelPicture before = picture();
  {
    const QScopedValueRollback guard(moving_, true);
    place_by_hand(document_, wanted.what, before, *owners);
  }
  view_->set_picture(with_owners(before, *owners));
  update_texts();
  show_selection();
  look();
}

}  // namespace trainyard::ui
