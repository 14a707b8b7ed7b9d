// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/welcome/welcome_page.h"

#include <QDir>
#include <QFileInfo>
#include <QGridLayout>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

// File names of the examples on the page, the simplest example first.
constexpr const char* kExamples[] = {"one_device_digits.json", "four_devices_mirrored_digits.json",
                                     "four_devices_mirrored_mnist.json"};
constexpr int kCardWidth = 288;
constexpr int kMaxRecentFiles = 6;

TintedLabel* heading(const QString& text, QWidget* parent) {
  auto* label = new TintedLabel(TextColor::text, parent, 1.15, true);
  label->setText(text);
  return label;
}

}  // namespace

WelcomePage::WelcomePage(const QString& examples_directory, RecentFiles& recent, QWidget* parent)
    : QWidget(parent), recent_(recent) {
  auto* area = new QScrollArea(this);
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  area->setWidget(build_content());
  auto* whole = new QVBoxLayout(this);
  whole->setContentsMargins(0, 0, 0, 0);
  whole->addWidget(area);
  fill_examples(examples_directory);
  fill_recent();
  connect(&recent, &RecentFiles::changed, this, &WelcomePage::fill_recent);
  connect(&Theme::instance(), &Theme::changed, this, &WelcomePage::arrange);
  connect(&Theme::instance(), &Theme::changed, this, &WelcomePage::fill_recent);
}

QWidget* WelcomePage::build_content() {
  auto* content = new QWidget(this);
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(4 * kGrid, 4 * kGrid, 4 * kGrid, 4 * kGrid);
  column->setSpacing(2 * kGrid);
  auto* title = new TintedLabel(TextColor::text, content, 1.8, true);
  title->setText("Trainyard");
  column->addWidget(title);
  column->addWidget(
      paragraph(TextColor::dim, content,
                tr("Draw machines, choose a model and a strategy, then press Run. Real processes "
                   "train the model, and you see every gradient and byte.")));
  column->addSpacing(kGrid);
  column->addWidget(heading(tr("Start with an example"), content));
  column->addWidget(live_run_ = paragraph(TextColor::warning, content));
  live_run_->hide();
  column->addWidget(
      no_examples_ = paragraph(
          TextColor::dim, content,
          tr("The examples of Trainyard were not found. Create a new experiment or open one.")));
  examples_ = new QGridLayout;
  examples_->setSpacing(2 * kGrid);
  column->addLayout(examples_);
  column->addSpacing(kGrid);
  column->addWidget(build_start());
  column->addStretch(1);
  return content;
}

// Builds the buttons for new and open, and the recent files.
QWidget* WelcomePage::build_start() {
  auto* start = new QWidget(this);
  auto* column = new QVBoxLayout(start);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(heading(tr("Your experiments"), start));
  auto* row = new QHBoxLayout;
  auto* fresh = new QPushButton(icon("new"), tr("New experiment"), start);
  auto* open = new QPushButton(icon("open"), tr("Open ..."), start);
  row->addWidget(fresh);
  row->addWidget(open);
  row->addStretch(1);
  column->addLayout(row);
  recents_ = new QVBoxLayout;
  recents_->setSpacing(2);
  column->addLayout(recents_);
  connect(fresh, &QPushButton::clicked, this, &WelcomePage::new_requested);
  connect(open, &QPushButton::clicked, this, &WelcomePage::open_dialog_requested);
  return start;
}

void WelcomePage::fill_examples(const QString& directory) {
  for (const char* name : kExamples) {
    auto example = read_example(QDir(directory).filePath(name));
    if (!example) continue;
    auto* card = cards_.emplace_back(new ExampleCard(std::move(*example), this));
    connect(card, &ExampleCard::run_requested, this, &WelcomePage::run_requested);
    connect(card, &ExampleCard::open_requested, this, &WelcomePage::open_requested);
  }
  no_examples_->setVisible(cards_.empty());
  arrange();
}

void WelcomePage::set_live_run(const QString& name) {
  const QString why = name.isEmpty() ? QString()
                                     : tr("%1 is still training: stop it before you run an "
                                          "example. You can open an example during training.")
                                           .arg(name);
  if (why == live_run_->text()) return;
  live_run_->setText(why);
  live_run_->setVisible(!why.isEmpty());
  for (ExampleCard* card : cards_) card->disable_running(why);
}

void WelcomePage::fill_recent() {
  while (QLayoutItem* item = recents_->takeAt(0)) {
    if (item->widget()) item->widget()->deleteLater();
    delete item;
  }
  for (const QString& file : recent_.files().mid(0, kMaxRecentFiles)) {
    const QFileInfo info(file);
    auto* button = new QPushButton(
        info.fileName() + "    " + QDir::toNativeSeparators(info.absolutePath()), this);
    button->setFlat(true);
    button->setFont(font());
    set_sheet(button, [](const Colors& c) {
      return QString(
                 "QPushButton { text-align: left; padding: 4px; color: %1; } QPushButton:disabled "
                 "{ color: %2; }")
          .arg(c.text.name(), c.dim.name());
    });
    button->setEnabled(info.exists());
    button->setToolTip(info.exists() ? file : tr("%1 no longer exists").arg(file));
    connect(button, &QPushButton::clicked, this, [this, file] { emit open_requested(file); });
    recents_->addWidget(button, 0, Qt::AlignLeft);
  }
}

// Arranges the cards in rows, each with as many cards as fit.
void WelcomePage::arrange() {
  if (cards_.empty()) return;
  const int width = Theme::instance().pixels(kCardWidth), room = this->width() - 8 * kGrid;
  const int columns = std::clamp(room / (width + 2 * kGrid), 1, static_cast<int>(cards_.size()));
  for (ExampleCard* card : cards_) examples_->removeWidget(card);
  for (int column = 0; column <= static_cast<int>(cards_.size()); ++column)
    examples_->setColumnStretch(column, column == columns ? 1 : 0);
  for (int i = 0; i < static_cast<int>(cards_.size()); ++i) {
    ExampleCard* card = cards_[static_cast<std::size_t>(i)];
    card->setFixedWidth(std::min(width, std::max(room, width / 2)));
    examples_->addWidget(card, i / columns, i % columns);
  }
}

void WelcomePage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  arrange();
}

}  // namespace trainyard::ui
