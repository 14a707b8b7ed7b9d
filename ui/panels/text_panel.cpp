// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/text_panel.h"

#include <QLabel>
#include <QPlainTextEdit>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/theme/theme.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {
namespace {

constexpr int kMaxBlocks = 20'000;  // older lines are removed
// number of log lines that are searched at once, before other events are processed
constexpr std::size_t kLinesAtOnce = 20'000;
constexpr std::string_view kSampled = "text";  // log level of sampled text

}  // namespace

SampledTextPanel::SampledTextPanel(QWidget* parent)
    : QWidget(parent),
      note_(new TintedLabel(TextColor::dim, this)),
      text_(new QPlainTextEdit(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(note_, 1);
  column->addWidget(text_, 1);
  note_->setAlignment(Qt::AlignCenter);
  note_->setWordWrap(true);
  text_->setReadOnly(true);
  text_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  text_->setFrameShape(QFrame::NoFrame);
  text_->setMaximumBlockCount(kMaxBlocks);
  text_->setAccessibleName(tr("Sampled text"));
  setFocusProxy(text_);
  show_note();
}

void SampledTextPanel::set_run(Run* run) {
  if (run_) run_->disconnect(this);
  run_ = run;
  looked_ = 0;
  text_->clear();
  if (run) {
    connect(run, &Run::updated, this, &SampledTextPanel::look);
    connect(run, &QObject::destroyed, this, [this] { set_run(nullptr); });
    look();
  }
  show_note();
}

// Appends newly generated texts to the panel. The step of each text is above it, in bold.
void SampledTextPanel::look() {
  if (!run_) return;
  const auto& log = run_->history().log();
  const std::size_t end = std::min(log.size(), looked_ + kLinesAtOnce);
  for (; looked_ < end; ++looked_) {
    if (log[looked_].level != kSampled) continue;
    const QString line = QString::fromStdString(log[looked_].text);
    const qsizetype heading = std::max<qsizetype>(line.indexOf('\n'), 0);
    text_->appendHtml("<b>" + line.left(heading).toHtmlEscaped() + "</b>");
    text_->appendPlainText(line.mid(heading + 1) + "\n");
  }
  if (looked_ < log.size())
    QMetaObject::invokeMethod(this, &SampledTextPanel::look, Qt::QueuedConnection);
  show_note();
}

QString SampledTextPanel::text() const { return text_->toPlainText(); }
QString SampledTextPanel::note() const { return note_->isHidden() ? QString() : note_->text(); }

void SampledTextPanel::show_note() {
  const bool empty = text_->document()->isEmpty();
  note_->setVisible(empty);
  text_->setVisible(!empty);
  note_->setText(!run_
                     ? tr("Text sampled from a language model appears here during training.\nOpen "
                          "the example “GPT, sentences” or choose text data, then press Run.")
                 : run_->complete() ? tr("This run sampled no text. Its data are not text, "
                                         "run.sampled_characters is 0, or its clock is virtual.")
                                    : tr("If the data are text, sampled text appears here after "
                                         "each pass over the held-out samples."));
}

}  // namespace trainyard::ui
